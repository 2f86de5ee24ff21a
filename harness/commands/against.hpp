#pragma once
// What `run --against` does: interleaved rounds against another program, or a comparison with
// another results file.

#include <string>

#include "harness/commands/commands.hpp"
#include "harness/commands/shared/auto_choice.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench::commands {

struct AgainstOptions {
  std::string config, other, output;
  int seeds = 1;
  bool force = false, quiet = false;
  double planted = 0;  ///< percent by which this program's times are lengthened, for the self-test
  BackendOptions backend;
  CandidateOptions candidates;
  AutoOptions choice;
};

/// True for a results file, false for a program. @throws InputError for a path that is neither
bool is_results_file(const std::string& path);

/// Runs the config with this program and with the other one in turns, records both and prints the
/// comparison. The exit code is that of `run`: it does not say whether this program is slower,
/// which is what `compare --gate` decides. @throws InputError for a program that is not a gla-bench
/// with workers, that speaks another protocol or that runs on another device; WorkerError
int run_against_program(const AgainstOptions& options, const std::string& command_line);

/// Prints what `compare` prints, for a run's results against an earlier file.
void print_comparison(const std::string& base, const Results& fresh);

}  // namespace gla_bench::commands
