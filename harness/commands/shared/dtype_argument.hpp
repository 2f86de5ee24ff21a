#pragma once
// A dtype on the command line.

#include <CLI/CLI.hpp>

namespace gla_bench::commands {

/// For CLI::Option::transform: takes any name that parse_dtype() takes and turns it into name().
CLI::Validator dtype_argument();

}  // namespace gla_bench::commands
