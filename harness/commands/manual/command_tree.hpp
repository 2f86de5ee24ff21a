#pragma once
// The command line as plain values, read from CLI11's own tree. The manual page and the shells'
// completions are written from it, so that they cannot fall behind the program.

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace gla_bench::commands {

struct OptionFacts {
  std::vector<std::string> names;  ///< "-o", "--output"; empty where the option is only positional
  std::string positional;          ///< "config"; empty where the option is not positional
  std::string value;               ///< "TEXT", "INT"; empty for a flag
  std::vector<std::string> choices;  ///< all values that the option takes, where they are known
  std::string default_value;         ///< as the help shows it; empty for none
  std::string help;
  bool required = false;
};

struct CommandFacts {
  std::string name;
  std::string help;
  std::string footer;  ///< examples
  std::vector<OptionFacts> options;
};

struct ProgramFacts {
  std::string version;
  std::string help;
  std::vector<OptionFacts> options;
  std::vector<CommandFacts> commands;
};

/// The values of options by the name of their type: {"OPERATOR": ["gla", ..]}. CLI11 knows the
/// values only of options that it checks itself.
using KnownValues = std::map<std::string, std::vector<std::string>>;

/// The listed commands and options of the program; what is hidden stays out.
ProgramFacts read_command_tree(const CLI::App& program, const std::string& version,
                               const KnownValues& known);

/// The operators and variants of the program, as the types OPERATOR and VARIANT.
KnownValues catalog_values();

}  // namespace gla_bench::commands
