#include "core/tile.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace gla_bench {
namespace {

TEST(Tile, ParsesWhatItDescribes) {
  const Tile tile{{"block_v", 32}, {"chunk", 64}};
  EXPECT_EQ(parse_tile(describe(tile)), tile);
  EXPECT_EQ(parse_tile("chunk=64,block_v=32"), tile);
  EXPECT_TRUE(parse_tile("").empty());
}

TEST(Tile, RefusesWhatIsNoTile) {
  for (const char* text : {"chunk", "chunk=", "=64", "chunk=6x", "chunk=64,,block_v=32",
                           "chunk=99999999999", "chunk=64,chunk=64", "chunk=64 "})
    EXPECT_THROW(parse_tile(text), InputError) << text;
}

TEST(Tile, MakesEveryCombinationWithTheDefaultsFirst) {
  const std::vector<Tile> tiles = all_tiles({{"a", {1, 2}, ""}, {"b", {3, 4, 5}, ""}});
  ASSERT_EQ(tiles.size(), 6U);
  EXPECT_EQ(tiles.front(), (Tile{{"a", 1}, {"b", 3}}));
  EXPECT_EQ(tiles.back(), (Tile{{"a", 2}, {"b", 5}}));
  EXPECT_EQ(all_tiles({}), std::vector<Tile>{Tile{}});
}

}  // namespace
}  // namespace gla_bench
