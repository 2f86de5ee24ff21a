# Puts the text of sources inside the binary, so that it needs no source tree at run time. A changed
# source regenerates its table at build time; an added one re-globs (CONFIGURE_DEPENDS).

# gla_bench_embed_table(<target> <C++ function that returns the table> <paths below the root>...)
function(gla_bench_embed_table target function)
  set(sources ${ARGN})
  list(SORT sources)
  set(list_file ${CMAKE_BINARY_DIR}/${function}.txt)
  set(table ${CMAKE_BINARY_DIR}/${function}.cpp)
  set(writer ${CMAKE_SOURCE_DIR}/cmake/WriteEmbeddedSources.cmake)
  string(JOIN "\n" list_text ${sources})
  file(GENERATE OUTPUT ${list_file} CONTENT "${list_text}\n")  # leaves an unchanged file alone
  set(paths ${sources})
  list(TRANSFORM paths PREPEND ${CMAKE_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${table}
    COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DLIST=${list_file} -DTABLE=${table}
            -DFUNCTION=${function} -P ${writer}
    DEPENDS ${paths} ${list_file} ${writer}
    COMMENT "Writing ${function}.cpp"
    VERBATIM)
  # A library of its own: what makes a source of a target waits for every library below that target.
  add_library(gla_bench_${function} STATIC ${table})
  target_include_directories(gla_bench_${function} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE gla_bench_${function})
endfunction()

# What candidates are made of, and the tolerances.
function(gla_bench_embed_sources target)
  file(GLOB_RECURSE sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/kernels/*.cuh ${CMAKE_SOURCE_DIR}/kernels/*.h
    ${CMAKE_SOURCE_DIR}/kernels/*.hpp ${CMAKE_SOURCE_DIR}/kernels/*.cpp
    ${CMAKE_SOURCE_DIR}/reference/*.cuh ${CMAKE_SOURCE_DIR}/reference/*.h
    ${CMAKE_SOURCE_DIR}/harness/backends/cuda/*.cuh
    ${CMAKE_SOURCE_DIR}/harness/selftest/*.cuh ${CMAKE_SOURCE_DIR}/harness/selftest/*.h
    ${CMAKE_SOURCE_DIR}/configs/tolerance.json ${CMAKE_SOURCE_DIR}/configs/schema/*.json)
  # These are made by the program itself.
  list(FILTER sources EXCLUDE REGEX "configs/schema/(candidates|config|results)\\.schema")
  gla_bench_embed_table(${target} embedded_sources ${sources})
endfunction()

# The kernels that `init` writes.
function(gla_bench_embed_examples target)
  file(GLOB sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/examples/*.cu ${CMAKE_SOURCE_DIR}/examples/*.json)
  gla_bench_embed_table(${target} embedded_examples ${sources})
endfunction()

# What the self-test brings in as anybody brings a kernel or a function.
function(gla_bench_embed_exploits target)
  file(GLOB sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/harness/selftest/exploits/*.cu
    ${CMAKE_SOURCE_DIR}/harness/selftest/exploits/*.py)
  gla_bench_embed_table(${target} embedded_exploits ${sources})
endfunction()

# What completes a kernel's source for the host's compiler.
function(gla_bench_embed_emulator target)
  file(GLOB sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/harness/backends/emulated/device/*.hpp)
  gla_bench_embed_table(${target} embedded_emulator ${sources})
endfunction()

# What decides whether a candidate is right: its inputs, the references, the comparison with them,
# and the checks of guard zones and of what a candidate may not touch.
function(gla_bench_embed_verifier target)
  set(patterns "")
  foreach(place harness/verify/* reference/* harness/backends/cuda/reference/*
                harness/backends/guarded_buffer harness/backends/other_inputs
                harness/backends/workset harness/backends/mix harness/tensors/staging)
    foreach(extension cpp hpp cuh h)
      list(APPEND patterns ${CMAKE_SOURCE_DIR}/${place}.${extension})
    endforeach()
  endforeach()
  file(GLOB_RECURSE sources RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${patterns})
  gla_bench_embed_table(${target} embedded_verifier ${sources})
endfunction()

# What compiles the host's candidates: options that change what a kernel computes, not warnings.
function(gla_bench_name_compiler_options)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(options "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  if(GLA_BENCH_SANITIZE)
    string(APPEND options " -fsanitize=address,undefined")
  endif()
  string(STRIP "${options}" options)
  set_property(SOURCE ${CMAKE_SOURCE_DIR}/harness/backends/host/compiler.cpp
    APPEND PROPERTY COMPILE_DEFINITIONS "GLA_BENCH_COMPILER_OPTIONS=\"${options}\"")
endfunction()
