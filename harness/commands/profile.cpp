// gla-bench profile and sanitize: NVIDIA's tools on one recorded candidate's
// launch.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/tools.hpp"
#include "harness/records/selection.hpp"

namespace gla_bench::commands {
namespace {

struct ToolOptions {
  std::string row, output, check = "memcheck";
  bool print = false;
  std::vector<std::string> more;
  BackendOptions backend;
  CandidateOptions candidates;
};

bool is_program(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// The path is spelled out, because inside the tool /proc/self/exe would be the tool itself.
std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::string tool_path(const std::string& tool) {
  const char* path = std::getenv("PATH");
  return find_tool(tool, path == nullptr ? "" : path, is_program);
}

/// The arguments that `repeat` is given. The row is checked here, so that a complaint comes from
/// this program and not from the tool.
std::vector<std::string> repeat_arguments(const ToolOptions& options) {
  const Selection selection = read_selection(options.row);
  if (selection.backend != BackendId::cuda)
    throw InputError(options.row + ": ran on the host, and the tool looks at GPUs");
  std::vector<std::string> arguments = options.backend.arguments();
  for (std::string& argument : candidate_arguments(options.candidates.manifests))
    arguments.push_back(std::move(argument));
  arguments.push_back(selection_text(selection));
  return arguments;
}

/// Replaces this process by the tool.
int become(const std::vector<std::string>& command, bool print) {
  std::string line;
  for (const std::string& part : command) line += (line.empty() ? "" : " ") + shell_quoted(part);
  (print ? std::cout : std::cerr) << line << std::endl;
  if (print) return done;
  std::vector<char*> arguments;
  for (const std::string& part : command) arguments.push_back(const_cast<char*>(part.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  throw InputError(command.front() + ": cannot be started: " + std::strerror(errno));
}

CLI::App* add_tool(CLI::App& program, const std::shared_ptr<ToolOptions>& options, const char* name,
                   const char* summary) {
  CLI::App* command = program.add_subcommand(name, summary);
  add_row_option(*command, options->row);
  command->add_flag("--print", options->print, "print the tool's command line, do not start it");
  command->add_option("--tool-option", options->more, "goes to the tool (may be given often)")
      ->allow_extra_args(false);
  options->backend.add_to(*command);
  options->candidates.add_to(*command);
  return command;
}

}  // namespace

void add_profile(CLI::App& program, Context& context) {
  auto options = std::make_shared<ToolOptions>();
  CLI::App* command =
      add_tool(program, options, "profile", "Starts ncu on the launch of one recorded candidate");
  command->add_option("-o,--output", options->output,
                      "report file for ncu's user interface (default: print to the terminal)");
  command->footer(
      "Examples:\n  gla-bench profile results/h200/gla.json#12\n"
      "  gla-bench profile run.json#3 -o row3 --tool-option=--section "
      "--tool-option=MemoryWorkloadAnalysis");
  command->callback([options, &context] {
    const auto repeat = repeat_arguments(*options);
    context.exit_code =
        become(ncu_command(tool_path("ncu"), own_path(), repeat, options->output, options->more),
               options->print);
  });
}

void add_sanitize(CLI::App& program, Context& context) {
  auto options = std::make_shared<ToolOptions>();
  CLI::App* command = add_tool(program, options, "sanitize",
                               "Starts compute-sanitizer on the launch of one recorded candidate");
  command->add_option("--check", options->check, "what to look for")
      ->check(CLI::IsMember({"memcheck", "racecheck", "initcheck", "synccheck"}))
      ->capture_default_str();
  command->footer(
      "Examples:\n  gla-bench sanitize results/h200/gla.json#12\n"
      "  gla-bench sanitize run.json#3 --check racecheck");
  command->callback([options, &context] {
    const auto repeat = repeat_arguments(*options);
    context.exit_code = become(sanitizer_command(tool_path("compute-sanitizer"), own_path(), repeat,
                                                 options->check, options->more),
                               options->print);
  });
}

}  // namespace gla_bench::commands
