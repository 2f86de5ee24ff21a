#pragma once
// What drawn sweeps cover, for people.

#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/config/config.hpp"
#include "harness/engine/assignment.hpp"

namespace gla_bench::commands {

/// A table with a row for each drawn sweep: its problems, the combinations that kernels are
/// compiled for, and the pairs of values that they cover. "" for a config without drawn sweeps.
std::string drawn_table(const Config& config);

/// A table of the tiles of each variant in covering sweeps. "" where there are none.
std::string covered_tiles_table(const Config& config, const std::vector<CoveredTiles>& covered);

/// What a covering draw of an operator holds: its axes with their values, and how many problems
/// have all pairs of them. Lines, indented by two.
std::string drawn_axes(const Catalog& catalog, const Operator& op, Direction direction);

}  // namespace gla_bench::commands
