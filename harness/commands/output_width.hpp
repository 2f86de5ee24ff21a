#pragma once

#include <cstddef>

namespace gla_bench::commands {

/// Columns of standard output where it is a terminal; 0 elsewhere.
std::size_t output_width();

}  // namespace gla_bench::commands
