#include <sstream>

#include "harness/commands/manual/manual.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

/// Text inside a specification of _arguments or _describe, which stands in single quotes.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (c == '\n')
      out += ' ';
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string action(const OptionFacts& option) {
  return option.choices.empty() ? "_files" : "(" + join(option.choices, " ") + ")";
}

/// "'*'{-o,--output}'[help]:TEXT:_files'": an option may stand several times.
std::string specification(const OptionFacts& option) {
  if (option.names.empty()) return "'*:" + zsh_text(option.positional) + ":" + action(option) + "'";
  std::string text = "'[" + zsh_text(option.help) + "]";
  if (!option.value.empty()) text += ":" + zsh_text(option.value) + ":" + action(option);
  text += "'";
  const std::string names =
      option.names.size() == 1 ? option.names.front() : "{" + join(option.names, ",") + "}";
  return "'*'" + names + text;
}

}  // namespace

std::string zsh_completion(const ProgramFacts& program) {
  std::ostringstream out;
  out << "#compdef gla-bench\n"
      << "# Completion of gla-bench for zsh, written by `gla-bench completion zsh`.\n"
      << "_gla_bench() {\n"
      << "  local context state line\n  typeset -A opt_args\n  local -a commands\n"
      << "  commands=(\n";
  for (const CommandFacts& command : program.commands)
    out << "    '" << zsh_text(command.name) << ":" << zsh_text(command.help) << "'\n";
  out << "  )\n  _arguments -C";
  for (const OptionFacts& option : program.options) out << " \\\n    " << specification(option);
  out << " \\\n    '1: :->command' \\\n    '*:: :->arguments'\n"
      << "  case $state in\n"
      << "    command) _describe command commands ;;\n"
      << "    arguments)\n      case $words[1] in\n";
  for (const CommandFacts& command : program.commands) {
    out << "        " << command.name << ")\n          _arguments";
    for (const OptionFacts& option : command.options)
      out << " \\\n            " << specification(option);
    out << "\n          ;;\n";
  }
  out << "      esac\n      ;;\n  esac\n}\n"
      << "if [[ $funcstack[1] == _gla-bench ]]; then _gla_bench \"$@\"; else compdef _gla_bench "
         "gla-bench; fi\n";
  return out.str();
}

}  // namespace gla_bench::commands
