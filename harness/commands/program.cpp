// The command line. Its exit codes are in harness/commands/shared/exit_codes.hpp.
#include "harness/commands/program.hpp"

#include <algorithm>
#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/exit_codes.hpp"
#include "harness/records/environment.hpp"
#include "harness/records/selection.hpp"

namespace gla_bench::commands {
namespace {

/// An argument that is a path from the root, or an option with one, by the path's last name alone.
std::string without_folders(std::string_view argument) {
  const std::size_t equals = argument.starts_with("--") ? argument.find('=') : argument.npos;
  const std::size_t begin = equals == argument.npos ? 0 : equals + 1;
  const std::string_view path = argument.substr(begin);
  if (!path.starts_with('/')) return std::string(argument);
  return std::string(argument.substr(0, begin)) +
         std::filesystem::path(path).lexically_normal().filename().string();
}

/// The command line as a shell would take it again, in the folder that it was given in. A record
/// should not tell where somebody built the program, or what lies around that folder, so the
/// program and paths from the root stand by their names alone.
std::string quoted(int count, char** arguments) {
  std::string line = count > 0 ? std::filesystem::path(arguments[0]).filename().string() : "";
  for (int i = 1; i < count; ++i) line += " " + shell_quoted(without_folders(arguments[i]));
  return line;
}

/// The exit codes for the help, one on each line.
std::string exit_code_list() {
  std::string text = "Exit codes:";
  for (const auto& [code, meaning] : exit_codes)
    text.append("\n  ").append(code).append(8 - code.size(), ' ').append(meaning);
  return text;
}

/// The exit code of a command whose output has to have arrived.
int with_standard_output(int code) {
  std::cout.flush();
  if (std::cout || code != done) return code;
  throw OutputError("standard output cannot be written");
}

}  // namespace

int run_program(int argc, char** argv, BenchFunction bench) {
  std::signal(SIGXFSZ,
              SIG_IGN);  // at the limit of a file's size the write fails and the process goes on
  Context context;
  context.command_line = quoted(argc, argv);
  context.arguments.assign(argv + std::min(argc, 1), argv + argc);
  context.bench = bench;
  CLI::App program{
      "Runs, verifies, measures and records gated linear attention, on a CPU and on NVIDIA "
      "GPUs.\n" +
          exit_code_list(),
      "gla-bench"};
  program.set_version_flag("--version", program_version());
  program.require_subcommand(1);
  add_list(program, context);
  add_info(program, context);
  add_plan(program, context);
  add_compile(program, context);
  add_run(program, context);
  add_verify(program, context);
  add_tune(program, context);
  add_exec(program, context);
  add_bench(program, context);
  add_gate(program, context);
  add_compare(program, context);
  add_report(program, context);
  add_export(program, context);
  add_merge(program, context);
  add_renew(program, context);
  add_emit(program, context);
  add_selftest(program, context);
  add_repeat(program, context);
  add_profile(program, context);
  add_sanitize(program, context);
  add_schema(program, context);
  add_init(program, context);
  add_worker(program, context);
  add_manual(program, context);
  add_completion(program, context);
  try {
    program.parse(argc, argv);
    return with_standard_output(context.exit_code);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? done : bad_usage;
  } catch (const InputError& error) {
    std::cerr << "gla-bench: " << error.what() << "\n";
    return bad_usage;
  } catch (const WorkerError& error) {
    std::cerr << "gla-bench: " << error.what() << "\n";
    return infrastructure;
  } catch (const OutputError& error) {
    std::cerr << "gla-bench: " << error.what() << "\n";
    return infrastructure;
  } catch (const std::exception& error) {
    std::cerr << "gla-bench: " << error.what() << "\n";
    return check_failed;
  }
}

}  // namespace gla_bench::commands
