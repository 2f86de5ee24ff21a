#include <gtest/gtest.h>

#include "kernels/linear_recurrence/chunk_sm90.hpp"
#include "kernels/linear_recurrence/chunk_sm90_layout.h"
#include "kernels/linear_recurrence/family.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& variant() {
  static const Variant v = chunk_sm90(gla_member());
  return v;
}

Problem wide(const Shape& shape) {
  return gla(DType::bfloat16, shape);
}

Tile tile(int value_groups, int preparers, int stages, int segments, int value_tiles = 1,
          int cluster = 1) {
  return {{"value_groups", value_groups}, {"value_tiles", value_tiles}, {"cluster", cluster},
          {"preparers", preparers},       {"stages", stages},           {"segments", segments}};
}

std::string refusal(const Problem& problem, const Tile& tile, const Limits& limits = h200()) {
  return variant().reject(problem, tile, limits).value_or("taken");
}

TEST(ChunkSm90, TakesWhatItsInstructionsAndRegistersTake) {
  const Problem problem = wide({8, 4096, 16, 128, 128});
  EXPECT_EQ(refusal(problem, tile(2, 1, 3, 1)), "taken");
  EXPECT_EQ(refusal(problem, tile(1, 2, 3, 1)), "taken");
  Limits other = h200();
  other.arch = 80;
  EXPECT_EQ(refusal(problem, tile(2, 1, 3, 1), other),
            "needs sm_90a: wgmma and bulk tensor copies");
  EXPECT_NE(refusal(problem, tile(2, 2, 3, 1)), "taken");
  EXPECT_NE(refusal(problem, tile(2, 1, 4, 1)), "taken");  // shared memory
  EXPECT_NE(refusal(gla(DType::float16, problem.shape), tile(2, 1, 3, 1)), "taken");
  EXPECT_NE(refusal(wide({1, 512, 2, 100, 128}), tile(2, 1, 3, 1)), "taken");  // rows of 200 bytes
  EXPECT_NE(refusal(wide({1, 512, 2, 128, 64}), tile(2, 1, 3, 1)), "taken");
  EXPECT_EQ(refusal(wide({1, 512, 2, 128, 64}), tile(1, 1, 3, 1)), "taken");
}

TEST(ChunkSm90, MoreThan128KeysTakeOneGroupOfValuesAndTwoThatPrepare) {
  const Problem problem = wide({1, 512, 2, 256, 128});
  EXPECT_EQ(refusal(problem, tile(1, 2, 2, 1)), "taken");
  EXPECT_NE(refusal(problem, tile(1, 1, 2, 1)), "taken");
  EXPECT_NE(refusal(problem, tile(2, 1, 2, 1)), "taken");
  EXPECT_NE(refusal(wide({1, 512, 2, 264, 128}), tile(1, 2, 2, 1)), "taken");
}

TEST(ChunkSm90, AGroupOwnsTwoTilesOfAtMost128Keys) {
  EXPECT_EQ(refusal(wide({1, 512, 2, 128, 128}), tile(1, 1, 3, 1, 2)), "taken");
  EXPECT_EQ(refusal(wide({1, 512, 2, 128, 256}), tile(2, 1, 2, 1, 2)), "taken");
  EXPECT_NE(refusal(wide({1, 512, 2, 128, 128}), tile(2, 1, 2, 1, 2)), "taken");  // 256 columns
  EXPECT_NE(refusal(wide({1, 512, 2, 128, 64}), tile(1, 1, 3, 1, 2)), "taken");
  EXPECT_NE(refusal(wide({1, 512, 2, 256, 256}), tile(1, 2, 2, 1, 2)), "taken");
}

TEST(ChunkSm90, BlocksOfAClusterShareKeysAndAddTilesOfTheirOwnUp) {
  EXPECT_EQ(refusal(wide({1, 512, 2, 256, 256}), tile(2, 1, 2, 1, 2, 2)), "taken");
  EXPECT_EQ(refusal(wide({1, 512, 2, 512, 512}), tile(2, 1, 2, 1, 2, 4)), "taken");
  EXPECT_EQ(refusal(wide({1, 512, 2, 248, 128}), tile(2, 1, 2, 1, 1, 2)), "taken");
  EXPECT_NE(refusal(wide({1, 512, 2, 256, 128}), tile(1, 2, 2, 1, 1, 2)), "taken");  // one tile
  EXPECT_NE(refusal(wide({1, 512, 2, 256, 256}), tile(2, 1, 2, 1, 1, 4)), "taken");  // two tiles
  EXPECT_NE(refusal(wide({1, 512, 2, 128, 128}), tile(2, 1, 2, 1, 1, 2)), "taken");  // one would do
  EXPECT_NE(refusal(wide({1, 512, 2, 520, 512}), tile(2, 1, 2, 1, 2, 4)), "taken");
  EXPECT_NE(refusal(wide({1, 63, 2, 256, 256}), tile(2, 1, 2, 1, 2, 2)), "taken");  // few tokens
  Problem ragged = wide({1, 512, 2, 256, 256});
  ragged.shape.sequences = 3;
  EXPECT_NE(refusal(ragged, tile(2, 1, 2, 1, 2, 2)), "taken");
}

TEST(ChunkSm90, AClusterIsSideBySideInTheGridAndItsStatesInTheWorkspace) {
  const Problem problem = wide({2, 4096, 3, 200, 300});  // 256 keys and 512 columns, padded
  const Tile parted = tile(2, 1, 2, 4, 2, 2);
  const Recipe recipe = std::get<0>(variant().code)(problem, parted);
  ASSERT_EQ(recipe.steps.size(), 2u);
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[1]).grid.x, 6u * 4 * 2 * 2);
  const std::vector<Region> regions = variant().workspace(problem, parted);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].bytes, 6u * 3 * 256 * 512 * 4);
  EXPECT_EQ(regions[1].bytes, 6u * 3 * 256 * 4);
}

TEST(ChunkSm90, SumsOfTheOtherBlocksHaveAPlaceForEachTileThatABlockAddsUp) {
  const ChunkSm90Layout two{256, 2, 2, 2, 1, 2, true}, four{512, 4, 2, 2, 1, 2, true};
  EXPECT_EQ(two.own, 2);
  EXPECT_EQ(two.outputs - two.received, 2 * 1 * 64 * 64 * 4);
  EXPECT_EQ(four.own, 1);
  EXPECT_EQ(four.outputs - four.received, 1 * 3 * 64 * 64 * 4);
  EXPECT_LE(two.bytes, 232448);
  EXPECT_LE(four.bytes, 232448);
}

TEST(ChunkSm90, SegmentsHaveTwoChunksAtLeast) {
  EXPECT_EQ(refusal(wide({1, 512, 2, 128, 128}), tile(2, 1, 3, 4)), "taken");
  EXPECT_NE(refusal(wide({1, 511, 2, 128, 128}), tile(2, 1, 3, 4)), "taken");
}

TEST(ChunkSm90, KeepsStatesAndDecaysOfAllSegmentsButTheLast) {
  const Problem problem = wide({2, 4096, 3, 100, 72});  // 128 keys and columns, padded
  EXPECT_TRUE(variant().workspace(problem, tile(2, 1, 3, 1)).empty());
  const std::vector<Region> regions = variant().workspace(problem, tile(2, 1, 3, 8));
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].bytes, 6u * 7 * 128 * 128 * 4);
  EXPECT_EQ(regions[1].bytes, 6u * 7 * 128 * 4);
}

TEST(ChunkSm90, LaunchesABlockForEachSegmentAndSliceOfValues) {
  const Problem problem = wide({2, 4096, 3, 128, 200});
  const auto recipe = [&](const Tile& tile) { return std::get<0>(variant().code)(problem, tile); };
  const auto blocks = [](const Step& step) { return std::get<KernelLaunch>(step).grid.x; };
  const Recipe whole = recipe(tile(2, 1, 3, 1)), parted = recipe(tile(1, 2, 3, 4));
  ASSERT_EQ(whole.steps.size(), 1u);
  EXPECT_EQ(blocks(whole.steps[0]), 6u * 2);
  ASSERT_EQ(parted.steps.size(), 2u);
  EXPECT_EQ(blocks(parted.steps[0]), 6u * 3 * 4);  // states: all but the last segment
  EXPECT_EQ(blocks(parted.steps[1]), 6u * 4 * 4);
  EXPECT_EQ(std::get<KernelLaunch>(parted.steps[1]).block.x, 512u);
  EXPECT_EQ(whole.tensor_maps.size(), 5u);  // q, k, v, o, g
}

TEST(ChunkSm90, ReadsAndWritesEachTensorOnceWithoutSegments) {
  const Problem problem = wide({2, 4096, 3, 128, 128});
  const double row = 2.0 * 4096 * 3 * 128 * 2, state = 2.0 * 3 * 128 * 128 * 4;
  const Traffic whole = variant().traffic(problem, tile(2, 1, 3, 1));
  EXPECT_EQ(whole.read_bytes, 4 * row);  // q, k, v, gates
  EXPECT_EQ(whole.write_bytes, row + (problem.final_state ? state : 0));
  const Traffic parted = variant().traffic(problem, tile(2, 1, 3, 4));
  EXPECT_GT(parted.read_bytes, whole.read_bytes + 3 * row * 0.75 - 1);
}

TEST(ChunkSm90, TablesFitWhereTheGatesWere) {
  for (const int keys : {64, 128, 256}) {
    const ChunkSm90Layout sizes{keys, 1, 1, 1, 2, 2, true};
    EXPECT_LE(sizes.tables_end, sizes.stage_bytes) << keys;
    EXPECT_EQ(sizes.stage_bytes % 1024, 0) << keys;
    EXPECT_EQ(sizes.parts * sizes.key_tiles, 8) << keys;
    EXPECT_LE(sizes.bytes, 232448) << keys;
  }
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
