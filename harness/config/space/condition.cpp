#include "harness/config/space/condition.hpp"

#include <algorithm>

namespace gla_bench {

bool Condition::holds(const Tile& tile) const {
  const auto there = [&](const std::string& name) { return tile.contains(name); };
  if (!std::all_of(names().begin(), names().end(), there)) return true;
  try {
    return formula_.value([&](const std::string& name) -> std::optional<std::int64_t> {
      return tile.at(name);
    }) != 0;
  } catch (const ExpressionError&) {
    return false;
  }
}

}  // namespace gla_bench
