#include <sstream>

#include "harness/commands/manual/manual.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {
namespace {

std::string all_names(const std::vector<OptionFacts>& options) {
  std::vector<std::string> names;
  for (const OptionFacts& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return join(names, " ");
}

/// One case for each option that takes a value. It lists the values; an empty case means a file.
void write_values(std::ostream& out, const CommandFacts& command) {
  for (const OptionFacts& option : command.options) {
    if (option.names.empty() || option.value.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names)
      patterns.push_back("'" + command.name + " " + name + "'");
    out << "    " << join(patterns, " | ") << ") takes_value=1 values='"
        << join(option.choices, " ") << "' ;;\n";
  }
}

std::string positional_values(const CommandFacts& command) {
  for (const OptionFacts& option : command.options)
    if (!option.positional.empty() && !option.choices.empty()) return join(option.choices, " ");
  return {};
}

}  // namespace

std::string bash_completion(const ProgramFacts& program) {
  std::vector<std::string> commands;
  for (const CommandFacts& command : program.commands) commands.push_back(command.name);
  std::ostringstream out;
  out << "# Completion of gla-bench for bash, written by `gla-bench completion bash`.\n"
      << "_gla_bench() {\n"
      << "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
      << "  local command='' takes_value='' values='' options='" << all_names(program.options)
      << "'\n"
      << "  COMPREPLY=()\n"
      << "  # --option=value comes as three words.\n"
      << "  if [[ $current == '=' ]]; then\n    current=''\n"
      << "  elif [[ $previous == '=' ]]; then\n    previous=${COMP_WORDS[COMP_CWORD - 2]}\n  fi\n"
      << "  if ((COMP_CWORD > 1)); then command=${COMP_WORDS[1]}; fi\n"
      << "  case \"$command $previous\" in\n";
  for (const CommandFacts& command : program.commands) write_values(out, command);
  out << "  esac\n"
      << "  if [[ -z $takes_value ]]; then\n"
      << "    case \"$command\" in\n"
      << "      '') values='" << join(commands, " ") << "' ;;\n";
  for (const CommandFacts& command : program.commands)
    out << "      " << command.name << ") options='" << all_names(command.options) << "' values='"
        << positional_values(command) << "' ;;\n";
  out << "    esac\n"
      << "    if [[ $current == -* ]]; then values=$options; fi\n"
      << "  fi\n"
      << "  # With no values to offer, bash completes the names of files (-o default).\n"
      << "  if [[ -n $values ]]; then mapfile -t COMPREPLY < <(compgen -W \"$values\" -- "
         "\"$current\"); fi\n"
      << "}\n"
      << "complete -o default -F _gla_bench gla-bench\n";
  return out.str();
}

}  // namespace gla_bench::commands
