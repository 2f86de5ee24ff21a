#pragma once
// A config's "tiles": what it allows of a variant's tiles.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/config/config.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// The axes of a variant, gathered over its implementations, with their values and defaults.
struct KnownAxes {
  std::map<std::string, std::set<int>> values;
  std::map<std::string, std::set<int>> defaults;
};

/// {"chunk": [32, 64], "where": ["block_v <= chunk"]}: values of axes, and conditions; or
/// {"t1": FILE}: the space of a T1 document (config/t1.hpp). @throws InputError
Narrowing read_narrowing(const JsonNode& node, const KnownAxes& known, const std::string& folder);

/// The space with what a narrowing leaves of its values. An axis keeps its own default if it has
/// none of them.
TileSpace narrowed(TileSpace space, const Narrowing& narrowing);

/// Whether all conditions of a narrowing hold.
bool allows(const Narrowing& narrowing, const Tile& tile);

/// Parses a condition on the axes `names`. @throws InputError for text that is no condition, or
/// names other axes
Condition read_condition(const JsonNode& node, const std::vector<std::string>& names);

}  // namespace gla_bench
