# Turns each line of rooms.txt into a static library: every .cpp below the room's folder, so that a
# new source needs no edit here. A room links the room before it, and through it all earlier ones.

# Rooms whose code runs in a measurement, walks whole tensors or learns from records. The others are bookkeeping, mostly
# templates of a JSON library and of CLI11, which take longer to optimise than they ever run.
set(GLA_BENCH_NUMERIC_ROOMS core reference kernels harness/tensors harness/backends harness/measure
                            harness/verify harness/cost_model)

# Rooms whose sources compile one by one: kernels and references of one folder are told apart by their
# files' names, and name what each of them has (`recipe`, `space`, `reference`) alike.
set(GLA_BENCH_ROOMS_WITHOUT_UNITY reference kernels)

# What the commands' room reads besides what all do (Precompile.cmake).
set(GLA_BENCH_READ_BESIDES_BY_gla_bench_harness_commands <CLI/CLI.hpp>)

# Rooms of which no fuzz target calls anything.
set(GLA_BENCH_ROOMS_WITHOUT_FUZZING harness/calls harness/duel harness/search harness/selftest
                                    harness/emit)

# The name of a room's library: harness/support -> gla_bench_harness_support.
function(gla_bench_room_target room result)
  string(REPLACE "/" "_" name ${room})
  set(${result} gla_bench_${name} PARENT_SCOPE)
endfunction()

# The sources of the backends that this build does without.
function(gla_bench_filter_backends variable)
  set(list ${${variable}})
  if(CUDAToolkit_FOUND)
    list(FILTER list EXCLUDE REGEX "/without_cuda/")
    if(GLA_BENCH_CUPTI_INCLUDE_DIR)
      list(FILTER list EXCLUDE REGEX "/without_cupti/")
    else()
      list(FILTER list EXCLUDE REGEX "/cupti/")
    endif()
  else()
    list(FILTER list EXCLUDE REGEX "/harness/backends/cuda/")
  endif()
  set(${variable} ${list} PARENT_SCOPE)
endfunction()

# Of the kernels, those that run on a GPU are described here and compiled elsewhere: their sources only say what is
# launched with what, and take longer to optimise than they ever run. Those of the host lie in folders `host`, or in
# files that are named so.
function(gla_bench_optimise_kernels target sources)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  list(FILTER sources INCLUDE REGEX "/kernels/.*host")
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)
  # Headers that were precompiled at another level of optimisation cannot be read.
  set_property(SOURCE ${sources} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
endfunction()

function(gla_bench_add_rooms)
  if(CUDAToolkit_FOUND)
    # The device's counters: headers alone, the library is found at run time.
    find_path(GLA_BENCH_CUPTI_INCLUDE_DIR cupti_profiler_host.h
              HINTS ${CUDAToolkit_INCLUDE_DIRS}
              PATHS ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include NO_DEFAULT_PATH)
  endif()

  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/rooms.txt)
  file(STRINGS ${CMAKE_SOURCE_DIR}/cmake/rooms.txt rooms REGEX "^[^#]")
  set(before "")
  foreach(room IN LISTS rooms)
    if(GLA_BENCH_FUZZ AND room IN_LIST GLA_BENCH_ROOMS_WITHOUT_FUZZING)
      continue()
    endif()
    gla_bench_room_target(${room} target)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${room}/*.cpp)
    gla_bench_filter_backends(sources)
    if(GLA_BENCH_FUZZ AND room STREQUAL kernels)
      set(sources ${CMAKE_SOURCE_DIR}/fuzz/variants.cpp)  # as many variants, and no kernel
    endif()
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC gla_bench_options ${before}
                                    PRIVATE OpenMP::OpenMP_CXX nlohmann_json::nlohmann_json)
    if(NOT room IN_LIST GLA_BENCH_NUMERIC_ROOMS)
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
      gla_bench_precompile(${target} rooms ${GLA_BENCH_READ_BESIDES_BY_${target}})
    endif()
    if(room STREQUAL kernels)
      gla_bench_optimise_kernels(${target} "${sources}")
      gla_bench_precompile(${target} kernels)
    endif()
    if(NOT room IN_LIST GLA_BENCH_ROOMS_WITHOUT_UNITY)
      gla_bench_unity(${target})
    endif()
    set(before ${target})
  endforeach()
  target_include_directories(gla_bench_core PUBLIC ${CMAKE_SOURCE_DIR})
  # The two lists that core/ declares, operators() and variants(), are defined where their members are.
  target_link_libraries(gla_bench_core INTERFACE gla_bench_reference gla_bench_kernels)
  target_link_libraries(gla_bench_harness_support PRIVATE ${CMAKE_DL_LIBS})
  target_link_libraries(gla_bench_kernels PRIVATE BLAS::BLAS)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 sees uninitialized members in std::variant's own move of a Step, depending on the length
    # of the kernel's name.
    target_compile_options(gla_bench_kernels PRIVATE -Wno-maybe-uninitialized)
  endif()
  target_link_libraries(gla_bench_reference PRIVATE BLAS::BLAS)
  target_link_libraries(gla_bench_harness_engine PRIVATE gla_bench_google_benchmark)
  target_link_libraries(gla_bench_harness_workers PRIVATE Threads::Threads)
  target_link_libraries(gla_bench_harness_commands PRIVATE CLI11::CLI11)
  # Boost.Math is headers alone.
  find_path(GLA_BENCH_BOOST_INCLUDE_DIR boost/math/distributions/students_t.hpp REQUIRED)
  target_include_directories(gla_bench_harness_support SYSTEM PRIVATE ${GLA_BENCH_BOOST_INCLUDE_DIR})
  # Static, so that the program needs no library of the build's machine. Tests unpack what it packs.
  find_library(GLA_BENCH_ZLIB libz.a REQUIRED)
  target_link_libraries(gla_bench_harness_report PUBLIC ${GLA_BENCH_ZLIB})
  if(CUDAToolkit_FOUND)
    gla_bench_link_cuda(gla_bench_harness_backends)
  endif()
endfunction()

function(gla_bench_link_cuda target)
  # Only the static part of the runtime: the program must start where there is neither a driver nor a
  # toolkit, so it opens NVRTC, cuBLAS, CUPTI and NVML when it needs them.
  if(GLA_BENCH_CUPTI_INCLUDE_DIR)
    target_include_directories(${target} SYSTEM PRIVATE ${GLA_BENCH_CUPTI_INCLUDE_DIR})
  endif()
  list(GET CUDAToolkit_INCLUDE_DIRS 0 cuda_include_dir)
  target_compile_definitions(gla_bench_core PUBLIC GLA_BENCH_WITH_CUDA=1)
  target_compile_definitions(${target} PRIVATE GLA_BENCH_CUDA_INCLUDE_DIR="${cuda_include_dir}")
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(${target} PUBLIC CUDA::cudart_static)
endfunction()
