#include <sstream>

#include "harness/commands/manual/manual.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

/// The text in single quotes, within which fish knows only the escapes \\ and \'.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

void write_option(std::ostream& out, const OptionFacts& option, const std::string& condition) {
  out << "complete -c gla-bench -n " << quoted(condition);
  for (const std::string& name : option.names)
    out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
  if (!option.choices.empty())
    out << " -x -a " << quoted(join(option.choices, " "));
  else if (!option.value.empty() && !option.names.empty())
    out << " -r";
  out << " -d " << quoted(option.help) << "\n";
}

}  // namespace

std::string fish_completion(const ProgramFacts& program) {
  std::ostringstream out;
  out << "# Completion of gla-bench for fish, written by `gla-bench completion fish`.\n";
  for (const OptionFacts& option : program.options)
    write_option(out, option, "__fish_use_subcommand");
  for (const CommandFacts& command : program.commands)
    out << "complete -c gla-bench -n __fish_use_subcommand -f -a " << command.name << " -d "
        << quoted(command.help) << "\n";
  for (const CommandFacts& command : program.commands)
    for (const OptionFacts& option : command.options)
      if (!option.names.empty() || !option.choices.empty())
        write_option(out, option, "__fish_seen_subcommand_from " + command.name);
  return out.str();
}

}  // namespace gla_bench::commands
