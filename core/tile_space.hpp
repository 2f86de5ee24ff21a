#pragma once
// Recorded tiles beside the space that their variant has now.

#include <algorithm>

#include "core/tile.hpp"

namespace gla_bench {

/// Whether the tile has a value of each axis, and nothing else.
inline bool in_space(const Tile& tile, const TileSpace& space) {
  if (tile.size() != space.size()) return false;
  return std::all_of(space.begin(), space.end(), [&](const TileAxis& axis) {
    const auto found = tile.find(axis.name);
    return found != tile.end() &&
           std::find(axis.values.begin(), axis.values.end(), found->second) != axis.values.end();
  });
}

/// The tile with the first value of each axis that it does not name. The first value of an axis
/// that comes later is what the variant did before, so that recorded choices and times go on to
/// mean what they meant.
inline Tile with_later_axes(Tile tile, const TileSpace& space) {
  for (const TileAxis& axis : space)
    if (!axis.values.empty()) tile.try_emplace(axis.name, axis.values.front());
  return tile;
}

}  // namespace gla_bench
