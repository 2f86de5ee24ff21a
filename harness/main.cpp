// gla-bench: the command line. Its exit codes are in harness/commands/shared/exit_codes.hpp.

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/exit_codes.hpp"
#include "harness/records/environment.hpp"
#include "harness/records/selection.hpp"

namespace {

/// The command line as a shell would take it again. The program stands by its name alone, since a
/// record should not tell where somebody built it.
std::string quoted(int count, char** arguments) {
  std::string line = count > 0 ? std::filesystem::path(arguments[0]).filename().string() : "";
  for (int i = 1; i < count; ++i) line += " " + gla_bench::shell_quoted(arguments[i]);
  return line;
}

/// The exit codes for the help, one on each line.
std::string exit_code_list() {
  std::string text = "Exit codes:";
  for (const auto& [code, meaning] : gla_bench::commands::exit_codes)
    text.append("\n  ").append(code).append(8 - code.size(), ' ').append(meaning);
  return text;
}

/// The exit code of a command whose output has to have arrived.
int with_standard_output(int code) {
  std::cout.flush();
  if (std::cout || code != gla_bench::commands::done) return code;
  throw gla_bench::OutputError("standard output cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace gla_bench;
  std::signal(SIGXFSZ,
              SIG_IGN);  // at the limit of a file's size the write fails and the process goes on
  commands::Context context;
  context.command_line = quoted(argc, argv);
  context.arguments.assign(argv + std::min(argc, 1), argv + argc);
#ifdef GLA_BENCH_WITH_GOOGLE_BENCHMARK
  context.bench = &bench;
#endif
  CLI::App program{
      "Runs, verifies, measures and records gated linear attention, on a CPU and on NVIDIA "
      "GPUs.\n" +
          exit_code_list(),
      "gla-bench"};
  program.set_version_flag("--version", program_version());
  program.require_subcommand(1);
  commands::add_list(program, context);
  commands::add_info(program, context);
  commands::add_plan(program, context);
  commands::add_compile(program, context);
  commands::add_run(program, context);
  commands::add_verify(program, context);
  commands::add_tune(program, context);
  commands::add_exec(program, context);
  commands::add_bench(program, context);
  commands::add_gate(program, context);
  commands::add_compare(program, context);
  commands::add_report(program, context);
  commands::add_export(program, context);
  commands::add_selftest(program, context);
  commands::add_repeat(program, context);
  commands::add_profile(program, context);
  commands::add_sanitize(program, context);
  commands::add_schema(program, context);
  commands::add_worker(program, context);
  commands::add_manual(program, context);
  commands::add_completion(program, context);
  try {
    program.parse(argc, argv);
    return with_standard_output(context.exit_code);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? commands::done : commands::bad_usage;
  } catch (const InputError& error) {
    std::cerr << "gla-bench: " << error.what() << "\n";
    return commands::bad_usage;
  } catch (const WorkerError& error) {
    std::cerr << "gla-bench: " << error.what() << "\n";
    return commands::infrastructure;
  } catch (const OutputError& error) {
    std::cerr << "gla-bench: " << error.what() << "\n";
    return commands::infrastructure;
  } catch (const std::exception& error) {
    std::cerr << "gla-bench: " << error.what() << "\n";
    return commands::check_failed;
  }
}
