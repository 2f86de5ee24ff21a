#pragma once
// Values of tile axes that were nowhere ahead in records. A sweep leaves them out where it does not
// ask for them.

#include <map>
#include <set>
#include <string>

#include "core/variant.hpp"
#include "harness/config/config.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// Values by axis, by the variant's name and direction.
using RareTiles = std::map<std::pair<std::string, Direction>, std::map<std::string, std::set<int>>>;

/// Those of the program: rare_tiles.inc, which scripts/dead_axes.py writes from records.
const RareTiles& rare_tiles();

/// Reads {"variant": {"forward": {"axis": [values]}}}. @throws InputError
RareTiles read_rare_tiles(const JsonNode& node);

/// The variant's space without the rare values of the axes that a narrowing does not name, neither
/// by their values nor in a condition. An axis keeps its default.
TileSpace usual_space(const Variant& variant, const Narrowing& narrowing, const RareTiles& rare);

}  // namespace gla_bench
