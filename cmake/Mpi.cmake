# gla-bench-mpi, a program of its own beside gla-bench, where MPI's headers are found: gla-bench itself
# starts on machines without MPI, whose implementations have no binary interface in common.
option(GLA_BENCH_MPI "Build gla-bench-mpi where MPI is found" ON)

if(GLA_BENCH_MPI)
  # MPI's interface of C is all that is used.
  set(MPI_CXX_SKIP_MPICXX TRUE)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    add_executable(gla-bench-mpi mpi/main.cpp)
    target_link_libraries(gla-bench-mpi PRIVATE gla_bench_harness_workers MPI::MPI_CXX)
    add_dependencies(gla-bench-mpi gla-bench)
  else()
    message(STATUS "No MPI: building without gla-bench-mpi")
  endif()
endif()
