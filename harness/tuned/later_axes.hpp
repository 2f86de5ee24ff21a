#pragma once
// Tiles that were recorded before a variant's space had all of its axes.

#include "harness/tile.hpp"

namespace gla_bench {

/// The tile with the first value of each axis that it does not name. The first value of an axis
/// that comes later is what the variant did before, so that recorded choices and times go on to
/// mean what they meant.
inline Tile with_later_axes(Tile tile, const TileSpace& space) {
  for (const TileAxis& axis : space)
    if (!axis.values.empty()) tile.try_emplace(axis.name, axis.values.front());
  return tile;
}

}  // namespace gla_bench
