# Precompiled headers: a third and more of the time of most sources is reading the same ones. A compiler's cache knows
# no precompiled headers, so that builds with one go without.
set(GLA_BENCH_READ_MOST <algorithm> <filesystem> <fstream> <functional> <map> <optional> <set> <sstream> <string>
                        <vector> <nlohmann/json.hpp>)
# Descriptions of kernels compile one by one, and reading these is two thirds of the time of each.
set(GLA_BENCH_READ_BY_kernels <algorithm> ${CMAKE_SOURCE_DIR}/core/operator.hpp ${CMAKE_SOURCE_DIR}/core/variant.hpp)

# gla_bench_precompile(target kind [header...]): what is read most, and these headers besides. Targets without headers of
# their own share what the first of their kind has compiled, and have to have the same options.
function(gla_bench_precompile target kind)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  get_property(first GLOBAL PROPERTY GLA_BENCH_FIRST_PRECOMPILED_${kind})
  if(DEFINED GLA_BENCH_READ_BY_${kind})
    target_precompile_headers(${target} PRIVATE ${GLA_BENCH_READ_BY_${kind}})
  elseif(ARGN)
    target_precompile_headers(${target} PRIVATE ${GLA_BENCH_READ_MOST} ${ARGN})
  elseif(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${GLA_BENCH_READ_MOST})
    set_property(GLOBAL PROPERTY GLA_BENCH_FIRST_PRECOMPILED_${kind} ${target})
  endif()
endfunction()
