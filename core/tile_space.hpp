#pragma once
// Compares recorded tiles with the space that their variant has now.

#include <algorithm>

#include "core/tile.hpp"

namespace gla_bench {

/// Whether the tile has an allowed value for each axis, and no other axes.
inline bool in_space(const Tile& tile, const TileSpace& space) {
  if (tile.size() != space.size()) return false;
  return std::all_of(space.begin(), space.end(), [&](const TileAxis& axis) {
    const auto found = tile.find(axis.name);
    return found != tile.end() &&
           std::find(axis.values.begin(), axis.values.end(), found->second) != axis.values.end();
  });
}

/// Adds to the tile the first value of each axis that it does not name. For an axis added later,
/// the first value is what the variant did before. So recorded choices and times keep their
/// meaning.
inline Tile with_later_axes(Tile tile, const TileSpace& space) {
  for (const TileAxis& axis : space)
    if (!axis.values.empty()) tile.try_emplace(axis.name, axis.values.front());
  return tile;
}

}  // namespace gla_bench
