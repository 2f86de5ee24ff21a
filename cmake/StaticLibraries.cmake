# A program that travels links only what every machine of its kind has. For each library that CMake
# found, the static archive is put in its place where there is one that links; where there is none the
# shared library stays, and the configuration says so.
include(CheckCXXSourceCompiles)

# Sets `result` to the archive's path, or to nothing. The folder of the shared library comes first.
function(gla_bench_find_archive name beside result)
  string(MAKE_C_IDENTIFIER "GLA_BENCH_ARCHIVE_${name}" variable)
  get_filename_component(folder "${beside}" DIRECTORY)
  find_library(${variable} NAMES lib${name}.a HINTS ${folder} DOC "Static archive of ${name}")
  mark_as_advanced(${variable})
  if(NOT ${variable} AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The compiler's own libraries lie in a folder that only it knows.
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${name}.a
                    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(IS_ABSOLUTE "${path}")
      set(${variable} ${path} CACHE FILEPATH "Static archive of ${name}" FORCE)
    endif()
  endif()
  if(${variable})
    set(${result} ${${variable}} PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# OpenBLAS: only its C interface to matrix products is called, which needs no Fortran library.
function(gla_bench_link_blas_statically)
  list(GET BLAS_LIBRARIES 0 shared)
  gla_bench_find_archive(openblas "${shared}" archive)
  set(libraries ${archive} Threads::Threads m)
  if(archive)
    set(CMAKE_REQUIRED_LIBRARIES ${libraries})
    check_cxx_source_compiles("#include <cblas.h>
int main() {
  float x = 1;
  double y = 1;
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, x, &x, 1, &x, 1, x, &x, 1);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, y, &y, 1, &y, 1, y, &y, 1);
  openblas_set_num_threads(openblas_get_num_threads());
}" GLA_BENCH_STATIC_OPENBLAS)
  endif()
  if(archive AND GLA_BENCH_STATIC_OPENBLAS)
    set_target_properties(BLAS::BLAS PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")
    return()
  endif()
  message(STATUS "No static OpenBLAS: gla-bench will need ${shared} where it runs")
endfunction()

# OpenMP: GCC's own runtime; another compiler's stays shared. Sets GLA_BENCH_STATIC_OPENMP. Python's module
# takes the shared one, since the archive's code cannot be part of a shared library.
function(gla_bench_link_openmp_statically)
  set(archive "")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    gla_bench_find_archive(gomp "" archive)
  endif()
  if(archive)
    set(is_module $<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>)
    set(runtime "$<IF:${is_module},${OpenMP_gomp_LIBRARY},${archive}>")
    set_target_properties(OpenMP::OpenMP_CXX PROPERTIES INTERFACE_LINK_LIBRARIES
                                                        "${runtime};Threads::Threads;${CMAKE_DL_LIBS}")
    set(GLA_BENCH_STATIC_OPENMP TRUE PARENT_SCOPE)
    return()
  endif()
  message(STATUS "No static OpenMP runtime: gla-bench will need ${OpenMP_CXX_LIBRARIES} where it runs")
endfunction()

# Google Benchmark, as gla_bench_google_benchmark. Sets GLA_BENCH_STATIC_BENCHMARK, by which the command
# `bench` is in the program itself or, with the shared library, in a program of its own.
function(gla_bench_link_benchmark_statically)
  get_target_property(type benchmark::benchmark TYPE)
  set(library benchmark::benchmark)
  if(NOT type STREQUAL "STATIC_LIBRARY")
    gla_bench_find_archive(benchmark "" archive)
    if(archive)
      set(library ${archive} Threads::Threads)
    endif()
  endif()
  add_library(gla_bench_google_benchmark INTERFACE)
  target_link_libraries(gla_bench_google_benchmark INTERFACE ${library})
  target_include_directories(gla_bench_google_benchmark SYSTEM INTERFACE
    $<TARGET_PROPERTY:benchmark::benchmark,INTERFACE_INCLUDE_DIRECTORIES>)
  if(type STREQUAL "STATIC_LIBRARY" OR archive)
    set(GLA_BENCH_STATIC_BENCHMARK TRUE PARENT_SCOPE)
  else()
    message(STATUS "No static Google Benchmark: the command `bench` goes into a program of its own, "
                   "gla-bench-google, which needs the shared library")
    set(GLA_BENCH_STATIC_BENCHMARK FALSE PARENT_SCOPE)
  endif()
endfunction()
