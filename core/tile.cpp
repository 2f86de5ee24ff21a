#include "core/tile.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/error.hpp"

namespace gla_bench {
namespace {

/// The text as a message may show it: what is no printable ASCII becomes '?'.
std::string shown(std::string_view text) {
  std::string clean(text);
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return clean;
}

}  // namespace

std::string describe(const Tile& tile) {
  std::string text;
  for (const auto& [axis, value] : tile) {
    if (!text.empty()) text += ',';
    text += axis + '=' + std::to_string(value);
  }
  return text;
}

Tile parse_tile(std::string_view text) {
  Tile tile;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t equals = part.find('=');
    int value = 0;
    const char* end = part.data() + part.size();
    const bool number =
        equals != std::string_view::npos && equals > 0 &&
        std::from_chars(part.data() + equals + 1, end, value) == std::from_chars_result{end, {}};
    if (!number)
      throw InputError("tile: '" + shown(part) + "'; expected axis=number, as in chunk=64");
    if (!tile.emplace(part.substr(0, equals), value).second)
      throw InputError("tile: axis '" + shown(part.substr(0, equals)) + "' is given twice");
  }
  return tile;
}

std::size_t tile_count(const TileSpace& space) {
  std::size_t count = 1;
  for (const TileAxis& axis : space) count *= axis.values.size();
  return count;
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
