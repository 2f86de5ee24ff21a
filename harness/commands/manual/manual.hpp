#pragma once
// The manual page and the completions of the shells, as text.

#include <string>

#include "harness/commands/manual/command_tree.hpp"

namespace gla_bench::commands {

/// gla-bench.1, for man(1).
std::string manual_page(const ProgramFacts& program);

/// Text for `source`, or for a folder of bash-completion.
std::string bash_completion(const ProgramFacts& program);

/// _gla-bench, for a folder of zsh's fpath.
std::string zsh_completion(const ProgramFacts& program);

/// gla-bench.fish, for a folder of fish's completions.
std::string fish_completion(const ProgramFacts& program);

}  // namespace gla_bench::commands
