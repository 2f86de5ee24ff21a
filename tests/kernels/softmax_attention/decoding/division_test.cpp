#include "kernels/softmax_attention/decoding/division.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace gla_bench::softmax_attention {
namespace {

DecodingDivision of(const DecodingSizes& sizes) {
  return DecodingDivision::of(sizes, DecodingDivision::heads_of_gang(sizes));
}

/// Batches, keys, key heads, tiles of rows, keys of a tile, blocks at a time and keys of a block.
std::vector<DecodingSizes> all_sizes() {
  std::vector<DecodingSizes> list;
  for (const long long batch : {1, 7, 300})
    for (const long long keys : {1, 64, 260, 1014, 65536})
      for (const int heads : {1, 3, 10, 64})
        for (const int row_tiles : {1, 2, 150})
          for (const int least : {64, 256, 1024})
            list.push_back({batch, keys, heads, row_tiles, 64, 132, least});
  return list;
}

TEST(DecodingDivision, GivesEachTileToOneGangAndAllGangsTheSameNumber) {
  for (const DecodingSizes& sizes : all_sizes()) {
    const DecodingDivision d = of(sizes);
    ASSERT_EQ(d.begin(0), 0);
    ASSERT_EQ(d.begin(d.gangs), d.sequences * d.tiles);
    const int each = d.sequences * d.tiles / d.gangs;
    ASSERT_GE(each, 1) << "no gang is idle";
    for (int gang = 0; gang < d.gangs; ++gang) {
      const int begin = d.begin(gang), end = d.begin(gang + 1);
      ASSERT_TRUE(end - begin == each || end - begin == each + 1);
      ASSERT_EQ(d.gang_of(begin), gang);
      ASSERT_EQ(d.gang_of(end - 1), gang);
    }
    for (int sequence = 0; sequence < d.sequences; ++sequence) {
      ASSERT_EQ(d.first_gang(sequence), d.gang_of(sequence * d.tiles));
      ASSERT_EQ(d.last_gang(sequence), d.gang_of(sequence * d.tiles + d.tiles - 1));
    }
  }
}

TEST(DecodingDivision, PartsHavePlacesOfTheirOwn) {
  for (const DecodingSizes& sizes : all_sizes()) {
    const DecodingDivision d = of(sizes);
    const std::set<int> members{0, d.members - 1};
    std::set<long long> places;
    std::size_t parts = 0;
    for (int sequence = 0; sequence < d.sequences; ++sequence)
      for (int gang = d.first_gang(sequence); gang <= d.last_gang(sequence); ++gang)
        for (const int member : members) {
          places.insert(d.part(gang, sequence, member));
          ++parts;
        }
    ASSERT_EQ(places.size(), parts);
    ASSERT_GE(*places.begin(), 0);
    ASSERT_LT(*places.rbegin(), d.parts());
  }
}

// Begins and gangs are formed without products of 64 bits, up to 2^30 tiles.
TEST(DecodingDivision, ManyTilesAreDividedExactly) {
  for (const long long batch : {16'777'216, 16'777'213})
    for (const long long keys : {4096, 4032})
      for (const int most_blocks : {132, 131, 264}) {
        const DecodingDivision d = of({batch, keys, 1, 1, 64, most_blocks, 64});
        const long long all = 1LL * d.sequences * d.tiles;
        for (int gang = 1; gang < d.gangs; ++gang) {
          ASSERT_EQ(d.begin(gang), all * gang / d.gangs);
          ASSERT_EQ(d.gang_of(d.begin(gang)), gang);
          ASSERT_EQ(d.gang_of(d.begin(gang) - 1), gang - 1);
        }
        ASSERT_EQ(d.gang_of(static_cast<int>(all - 1)), d.gangs - 1);
      }
}

TEST(DecodingDivision, NoSequenceHasMoreThanTheMostParts) {
  for (const DecodingSizes& sizes : all_sizes()) {
    const DecodingDivision d = of(sizes);
    for (int sequence = 0; sequence < d.sequences; ++sequence)
      ASSERT_LE(d.last_gang(sequence) - d.first_gang(sequence) + 1, d.most_parts());
  }
  EXPECT_EQ(of({1, 65536, 8, 1, 64, 132, 256}).most_parts(), 17) << "16 gangs, one sequence";
  EXPECT_EQ(of({50, 2796, 8, 1, 64, 132, 256}).most_parts(), 2) << "16 gangs, 50 sequences";
}

TEST(DecodingDivision, BlocksHaveAsManyKeysAsTheyShallWhereKeysAreFew) {
  // Two sequences of 1024 keys on 132 blocks: quarters, sixteenths or none.
  EXPECT_EQ(of({2, 1024, 1, 1, 64, 132, 256}).gangs, 8);
  EXPECT_EQ(of({2, 1024, 1, 1, 64, 132, 64}).gangs, 32);
  EXPECT_EQ(of({2, 1024, 1, 1, 64, 132, 1024}).gangs, 2);
  EXPECT_EQ(of({2, 1024, 1, 1, 128, 132, 64}).gangs, 16) << "a tile is the least";
  EXPECT_EQ(of({2, 260, 1, 1, 64, 132, 256}).gangs, 2) << "5 tiles are one time four";
  EXPECT_EQ(of({40, 1024, 1, 1, 64, 132, 256}).gangs, 132) << "all blocks, of 4.8 tiles";
  EXPECT_EQ(of({1, 64, 1, 300, 64, 132, 64}).members, 300) << "more tiles of rows than blocks";
}

TEST(DecodingDivision, GangsHaveTheMostHeadsThatLeaveFewBlocksIdle) {
  EXPECT_EQ(DecodingDivision::heads_of_gang({1, 64, 8, 1, 64, 132, 64}), 8) << "16 * 8 of 132";
  EXPECT_EQ(DecodingDivision::heads_of_gang({1, 64, 40, 1, 64, 132, 64}), 10)
      << "3 * 40 and 6 * 20 of 132 leave a tenth idle";
  EXPECT_EQ(DecodingDivision::heads_of_gang({1, 64, 8, 2, 64, 132, 64}), 8);
  EXPECT_EQ(DecodingDivision::heads_of_gang({1, 64, 7, 1, 64, 132, 64}), 7);
  EXPECT_EQ(DecodingDivision::heads_of_gang({1, 64, 199, 1, 64, 132, 64}), 1)
      << "a prime number, above that of blocks";
}

}  // namespace
}  // namespace gla_bench::softmax_attention
