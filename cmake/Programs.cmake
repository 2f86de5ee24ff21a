# The program gla-bench and, where Google Benchmark is a shared library, gla-bench-google beside it: the
# same program with the command `bench` inside, which gla-bench starts for that command alone.
add_executable(gla-bench harness/main.cpp)
set(programs gla-bench)
set(program_with_bench gla-bench)
if(NOT GLA_BENCH_STATIC_BENCHMARK)
  add_executable(gla-bench-google harness/main.cpp)
  add_dependencies(gla-bench gla-bench-google)
  list(APPEND programs gla-bench-google)
  set(program_with_bench gla-bench-google)
endif()
foreach(program ${programs})
  target_link_libraries(${program} PRIVATE gla_bench_harness_commands CLI11::CLI11)
endforeach()
target_compile_definitions(${program_with_bench} PRIVATE GLA_BENCH_WITH_GOOGLE_BENCHMARK=1)
# Apart from the room's other sources, so that a program that does not call it does not need the library.
set_source_files_properties(harness/engine/bench.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
