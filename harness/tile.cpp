#include "harness/tile.hpp"

namespace gla_bench {

std::string describe(const Tile& tile) {
  std::string text;
  for (const auto& [axis, value] : tile) {
    if (!text.empty()) text += ',';
    text += axis + '=' + std::to_string(value);
  }
  return text;
}

std::vector<Tile> all_tiles(const TileSpace& space) {
  std::vector<Tile> tiles{{}};
  for (const TileAxis& axis : space) {
    std::vector<Tile> wider;
    wider.reserve(tiles.size() * axis.values.size());
    for (const Tile& tile : tiles)
      for (int value : axis.values) {
        wider.push_back(tile);
        wider.back()[axis.name] = value;
      }
    tiles = std::move(wider);
  }
  return tiles;
}

}  // namespace gla_bench
