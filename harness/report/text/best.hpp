#pragma once
// A line for each problem: which variant wins, and by how much.

#include <span>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"
#include "harness/support/table.hpp"

namespace gla_bench {

struct BestTable {
  std::string title;  ///< operator, direction and dtype, and what else all its problems share
  Table table;
};

/// A table for each operator, direction and dtype, over all files. For each problem it has the
/// fastest verified variant, its cold ms, its share of the floor (at the copy rate of its file) and
/// what bounds it. Then come the next variant and the fastest right peer, each with its time over
/// the winner's ("=" where the next cannot be told from the winner), and the winner's tile.
std::vector<BestTable> best_tables(std::span<const Results> files);

}  // namespace gla_bench
