#pragma once
// The whole program behind main(), without CLI11 in sight.

#include "harness/engine/bench.hpp"

namespace gla_bench::commands {

/// Runs the command that a command line asks for and returns the program's exit code. Errors are
/// printed to standard error.
/// @param bench runs candidates under Google Benchmark; null in a program without that library
int run_program(int argc, char** argv, BenchFunction bench);

}  // namespace gla_bench::commands
