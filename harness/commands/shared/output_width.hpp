#pragma once
// How wide a terminal standard output is, and whether it shows colours.

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace gla_bench::commands {

/// Columns; 0 where standard output is no terminal.
std::size_t output_width();

/// --color auto|always|never.
void add_color_option(CLI::App& command, std::string& choice);

/// auto: where standard output is a terminal.
bool is_coloured(const std::string& choice);

}  // namespace gla_bench::commands
