#pragma once
// The commands, one file each. Only these files know CLI11.

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/config/config.hpp"
#include "harness/engine/assignment.hpp"
#include "harness/engine/bench.hpp"

namespace gla_bench::commands {

/// Exit codes of the program.
enum Exit {
  done = 0,
  check_failed = 1,
  bad_usage = 2,
  regression = 3,
  inconclusive = 4,
  infrastructure = 5,
  signalled = 128  ///< plus the signal's number
};

/// What run_program() passes to the commands, and what a command leaves for it.
struct Context {
  std::string command_line;
  std::vector<std::string> arguments;  ///< of the command line, without the program's name
  /// Runs candidates under Google Benchmark; null in a program that is built without that library.
  BenchFunction bench = nullptr;
  int exit_code = done;
};

// Each adds its command to the program; the command sets context.exit_code.
void add_list(CLI::App& program, Context& context);
void add_info(CLI::App& program, Context& context);
void add_plan(CLI::App& program, Context& context);
void add_compile(CLI::App& program, Context& context);
void add_run(CLI::App& program, Context& context);
void add_verify(CLI::App& program, Context& context);
void add_tune(CLI::App& program, Context& context);
void add_exec(CLI::App& program, Context& context);
void add_bench(CLI::App& program, Context& context);
void add_gate(CLI::App& program, Context& context);
void add_compare(CLI::App& program, Context& context);
void add_report(CLI::App& program, Context& context);
void add_export(CLI::App& program, Context& context);
void add_merge(CLI::App& program, Context& context);
void add_renew(CLI::App& program, Context& context);
void add_emit(CLI::App& program, Context& context);
void add_selftest(CLI::App& program, Context& context);
void add_repeat(CLI::App& program, Context& context);
void add_profile(CLI::App& program, Context& context);
void add_schema(CLI::App& program, Context& context);
void add_init(CLI::App& program, Context& context);
void add_sanitize(CLI::App& program, Context& context);
/// Hidden command. The build installs what it prints: the manual page and the completions of
/// shells.
void add_manual(CLI::App& program, Context& context);
void add_completion(CLI::App& program, Context& context);
/// Hidden command. `run` and `verify` start it to do their work.
void add_worker(CLI::App& program, Context& context);

/// The options that say where things run, shared by several commands.
struct BackendOptions {
  std::string backend;  ///< "auto", "host" or "cuda"; empty: what the config says
  CudaOptions cuda;
  HostOptions host;
  bool emulate = false;  ///< CUDA candidates run on the host, thread by thread

  void add_to(CLI::App& command);
  /// The option of commands that time nothing.
  CLI::Option* add_emulation_to(CLI::App& command);
  /// The same options for a worker's command line.
  std::vector<std::string> arguments() const;
};

/// Kernels from outside the program, shared by the commands that take variants.
struct CandidateOptions {
  std::vector<std::string> manifests;

  void add_to(CLI::App& command);
  /// The program's own catalog with the variants of these manifests. @throws InputError
  Catalog catalog() const;
};

/// The same option for another command line of this program.
std::vector<std::string> candidate_arguments(const std::vector<std::string>& manifests);

/// The argument of commands that take one recorded candidate (read_selection() reads it).
void add_row_option(CLI::App& command, std::string& row);

/// The backend that the command line asks for, else the one that the config asks for. Without
/// either it is the GPU where there is one, and the host otherwise. @throws InputError for "cuda"
/// in a build without it
std::unique_ptr<Backend> open_backend(const BackendOptions& options,
                                      std::optional<BackendId> configured = std::nullopt);

/// The place that a backend is, for assignments(). The host's memory is what is free now, and the
/// sources are those that are compiled. @throws InputError when the folder of sources cannot be
/// read
Place place_of(BackendId backend, const Limits& limits, const std::string& device,
               const BackendOptions& options);
Place place_of(const Backend& backend, const BackendOptions& options);

/// "host (AMD EPYC ...)", for people.
std::string where(const Backend& backend);

}  // namespace gla_bench::commands
