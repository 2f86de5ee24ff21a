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

/// A table for each operator, direction and dtype, over all files: per problem the fastest verified
/// variant, cold ms, share of the floor (at the copy rate of its file), what bounds it, the next
/// variant and the fastest right peer with their times over the winner's ("=" where the next can
/// not be told from it), and its tile.
std::vector<BestTable> best_tables(std::span<const Results> files);

}  // namespace gla_bench
