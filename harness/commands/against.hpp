#pragma once
// What `run --against` does: rounds against another program, or a comparison with another file.

#include <string>

#include "harness/commands/commands.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench::commands {

struct AgainstOptions {
  std::string config, other, output;
  int seeds = 1;
  bool force = false, quiet = false;
  double planted = 0;  ///< percent by which this program's times are made longer, for the self-test
  BackendOptions backend;
  AutoOptions choice;
};

/// True for a results file, false for a program. @throws InputError for what is neither
bool is_results_file(const std::string& path);

/// Runs the config by this program and by the other one in turns, records both and prints the
/// comparison. The exit code is that of `run`: what is slower is for `compare --gate` to say.
/// @throws InputError for a program that is no gla-bench with workers, speaks another protocol or
/// runs on another device; WorkerError
int run_against_program(const AgainstOptions& options, const std::string& command_line);

/// What `compare` prints of a run's results against an earlier file.
void print_comparison(const std::string& base, const Results& fresh);

}  // namespace gla_bench::commands
