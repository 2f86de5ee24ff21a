// gla-bench. Its command line is in harness/commands/program.cpp. This file is compiled once for
// each program of the build, with and without Google Benchmark.

#include "harness/commands/program.hpp"

int main(int argc, char** argv) {
#ifdef GLA_BENCH_WITH_GOOGLE_BENCHMARK
  return gla_bench::commands::run_program(argc, argv, &gla_bench::bench);
#else
  return gla_bench::commands::run_program(argc, argv, nullptr);
#endif
}
