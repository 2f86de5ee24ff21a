#pragma once
// A line for each problem: which variant wins, and by how much.

#include <span>

#include "harness/record_file.hpp"
#include "harness/table.hpp"

namespace gla_bench {

/// Per problem and device over all files: the fastest verified variant with its tile, cold ms,
/// share of the floor (at the copy rate of a file with rows of it), the next variant and the
/// fastest right peer with their times over the winner's.
Table best_table(std::span<const Results> files);

}  // namespace gla_bench
