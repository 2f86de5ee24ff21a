#pragma once
// The tuning parameters: a tile is one choice for each axis of a variant's space.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gla_bench {

/// For example {"block_v": 32, "chunk": 64}. The map is ordered, so that its text can serve as a
/// key.
using Tile = std::map<std::string, int>;

/// One tunable parameter. The first value is the variant's default.
struct TileAxis {
  std::string name;
  std::vector<int> values;
  std::string meaning;  ///< one line for `gla-bench list`
};

using TileSpace = std::vector<TileAxis>;

/// "block_v=32,chunk=64"
std::string describe(const Tile& tile);

/// The inverse of describe(): "chunk=64,block_v=32", in any order. An empty text is the empty tile.
/// @throws InputError for a part that is not axis=number, and for an axis given twice
Tile parse_tile(std::string_view text);

/// How many combinations of the axes' values there are.
std::size_t tile_count(const TileSpace& space);

/// Every combination of the axes' values, the first axis slowest.
std::vector<Tile> all_tiles(const TileSpace& space);

}  // namespace gla_bench
