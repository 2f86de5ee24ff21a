#include <gtest/gtest.h>

#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/sm90/chunk_sm90.hpp"
#include "kernels/linear_recurrence/sm90/layout.h"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& chunk_sm90_gla() {
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

/// 64 keys and one tile of V, each group that prepares with chunks of its own.
Tile on_chip(int preparers, int stages, int segments, int value_groups = 1) {
  Tile t = tile(value_groups, preparers, stages, segments);
  t["on_chip"] = 1;
  return t;
}

std::string refusal(const Problem& problem, const Tile& tile, const Limits& limits = h200()) {
  return chunk_sm90_gla().reject(problem, tile, limits).value_or("taken");
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
  EXPECT_NE(refusal(wide({1, 15, 2, 256, 256}), tile(2, 1, 2, 1, 2, 2)), "taken");  // few tokens
  Problem ragged = wide({1, 512, 2, 256, 256});
  ragged.shape.sequences = 3;
  EXPECT_EQ(refusal(ragged, tile(2, 1, 2, 1, 2, 2)), "taken");
}

TEST(ChunkSm90, AClusterIsSideBySideInTheGridAndItsStatesInTheWorkspace) {
  const Problem problem = wide({2, 4096, 3, 200, 300});  // 256 keys and 512 columns, padded
  const Tile parted = tile(2, 1, 2, 4, 2, 2);
  const Recipe recipe = std::get<0>(chunk_sm90_gla().code)(problem, parted);
  ASSERT_EQ(recipe.steps.size(), 2u);
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[1]).grid.x, 6u * 4 * 2 * 2);
  const std::vector<Region> regions = chunk_sm90_gla().workspace(problem, parted);
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
  EXPECT_TRUE(chunk_sm90_gla().workspace(problem, tile(2, 1, 3, 1)).empty());
  const std::vector<Region> regions = chunk_sm90_gla().workspace(problem, tile(2, 1, 3, 8));
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].bytes, 6u * 7 * 128 * 128 * 4);
  EXPECT_EQ(regions[1].bytes, 6u * 7 * 128 * 4);
}

TEST(ChunkSm90, LaunchesABlockForEachSegmentAndSliceOfValues) {
  const Problem problem = wide({2, 4096, 3, 128, 200});
  const auto recipe = [&](const Tile& tile) {
    return std::get<0>(chunk_sm90_gla().code)(problem, tile);
  };
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
  const Traffic whole = chunk_sm90_gla().traffic(problem, tile(2, 1, 3, 1));
  EXPECT_EQ(whole.read_bytes, 4 * row);  // q, k, v, gates
  EXPECT_EQ(whole.write_bytes, row + (problem.final_state ? state : 0));
  const Traffic parted = chunk_sm90_gla().traffic(problem, tile(2, 1, 3, 4));
  EXPECT_GT(parted.read_bytes, whole.read_bytes + 3 * row * 0.75 - 1);
}

Tile last_in_segments(int segments, int parted) {
  Tile t = tile(2, 1, 3, segments);
  t["parted"] = parted;
  return t;
}

TEST(ChunkSm90, TheLastSequencesAloneMayBeInSegments) {
  const Problem problem = wide({2, 4096, 3, 128, 128});  // six sequences
  EXPECT_EQ(refusal(problem, last_in_segments(8, 1)), "taken");
  EXPECT_EQ(refusal(problem, last_in_segments(1, 1)), "no sequence is in segments");
  EXPECT_EQ(refusal(problem, last_in_segments(8, 8)), "all sequences are in segments");
  EXPECT_EQ(refusal(wide({1, 4096, 4, 128, 128}), last_in_segments(8, 4)),
            "all sequences are in segments");
  Tile joined = on_chip(2, 5, 2);
  joined["parted"] = 1;
  EXPECT_EQ(refusal(wide({2, 512, 3, 64, 64}), joined),
            "a sequence's segments are a cluster, as those of all others");
}

TEST(ChunkSm90, OnlySequencesInSegmentsHaveBlocksForThemAndAreReadTwice) {
  const Problem problem = wide({2, 4096, 3, 128, 128});
  const Tile two = last_in_segments(8, 2), all = last_in_segments(8, 0), none = tile(2, 1, 3, 1);
  const Recipe recipe = std::get<0>(chunk_sm90_gla().code)(problem, two);
  ASSERT_EQ(recipe.steps.size(), 2u);
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[0]).grid.x, 2u * 7);
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[1]).grid.x, 4u + 2 * 8);
  EXPECT_EQ(chunk_sm90_gla().workspace(problem, two)[0].bytes, 2u * 7 * 128 * 128 * 4);
  const auto more = [&](const Tile& tile) {
    return chunk_sm90_gla().traffic(problem, tile).read_bytes -
           chunk_sm90_gla().traffic(problem, none).read_bytes;
  };
  EXPECT_NEAR(more(two), more(all) / 3, 1.0);
  const auto work = [&](const Tile& tile) {
    return chunk_sm90_gla().flops(problem, tile) - chunk_sm90_gla().flops(problem, none);
  };
  EXPECT_NEAR(work(two), work(all) / 3, 1.0);
}

TEST(ChunkSm90, OutputsBeginWhileTheStatesOfSegmentsAreMade) {
  const Problem problem = wide({2, 4096, 3, 128, 128});
  const Recipe two = std::get<0>(chunk_sm90_gla().code)(problem, tile(2, 1, 3, 4));
  EXPECT_FALSE(std::get<KernelLaunch>(two.steps[0]).overlaps);
  EXPECT_TRUE(std::get<KernelLaunch>(two.steps[1]).overlaps);
  const Recipe one = std::get<0>(chunk_sm90_gla().code)(problem, tile(2, 1, 3, 1));
  EXPECT_FALSE(std::get<KernelLaunch>(one.steps[0]).overlaps);
}

TEST(ChunkSm90, JoinedSegmentsAreAClusterWhoseMiddleStaysInSharedMemory) {
  const Problem problem = wide({2, 1024, 16, 64, 64});  // 16 chunks: 6, 5 and 5
  EXPECT_EQ(refusal(problem, on_chip(3, 5, 3)), "taken");
  EXPECT_EQ(refusal(problem, on_chip(3, 4, 3)),
            "a segment that is walked twice has 5 chunks, shared memory holds 4");
  EXPECT_EQ(refusal(problem, on_chip(2, 4, 4)), "taken");
  EXPECT_EQ(refusal(problem, on_chip(1, 2, 8)), "taken");
  EXPECT_EQ(refusal(problem, on_chip(2, 2, 2)), "taken");  // neither of two is walked twice
  EXPECT_EQ(refusal(wide({2, 4096, 16, 64, 64}), on_chip(2, 4, 16)),
            "a cluster has no more than eight blocks");
  Problem parts = problem;  // of which one may have all tokens
  parts.shape.batch = 1;
  parts.shape.sequences = 3;
  EXPECT_NE(refusal(parts, on_chip(3, 5, 3)), "taken");
  parts.shape.seq = 960;
  EXPECT_EQ(refusal(parts, on_chip(3, 5, 3)), "taken");
}

TEST(ChunkSm90, SequencesHaveSixteenTokensOnAverage) {
  const std::string reason =
      "sequences of less than 16 tokens on average are for the forms that round less";
  EXPECT_EQ(refusal(wide({2, 15, 2, 64, 64}), tile(1, 1, 3, 1)), reason);
  EXPECT_EQ(refusal(wide({2, 16, 2, 64, 64}), tile(1, 1, 3, 1)), "taken");
  Problem parts = wide({1, 63, 2, 64, 64});
  parts.shape.sequences = 4;
  EXPECT_EQ(refusal(parts, tile(1, 1, 3, 1)), reason);
  parts.shape.seq = 64;
  EXPECT_EQ(refusal(parts, tile(1, 1, 3, 1)), "taken");
}

TEST(ChunkSm90, GroupsThatPrepareApartAreAsManyAsTheRegistersHold) {
  const Problem problem = wide({2, 1024, 16, 64, 64});
  EXPECT_EQ(refusal(problem, on_chip(3, 3, 1)), "taken");
  EXPECT_NE(refusal(problem, on_chip(1, 3, 1)), "taken");  // the same as it is
  EXPECT_NE(refusal(problem, on_chip(3, 2, 1)), "taken");  // two stages
  EXPECT_NE(refusal(problem, tile(1, 3, 3, 1)), "taken");  // not together
  EXPECT_EQ(refusal(wide({2, 1024, 16, 128, 64}), on_chip(2, 3, 1)), "taken");
  EXPECT_NE(refusal(wide({2, 1024, 16, 128, 64}), on_chip(3, 3, 1)), "taken");
  EXPECT_NE(refusal(wide({2, 1024, 16, 64, 128}), on_chip(2, 3, 1, 2)), "taken");
  EXPECT_NE(refusal(wide({2, 1024, 16, 200, 64}), on_chip(2, 2, 1)), "taken");
  Tile both = on_chip(1, 2, 2, 2);
  both["cluster"] = 2;
  EXPECT_NE(refusal(wide({1, 512, 2, 256, 128}), both), "taken");
}

TEST(ChunkSm90, JoinedSegmentsTakeOneLaunchNoWorkspaceAndEachTensorOnce) {
  const Problem problem = wide({2, 1024, 16, 64, 64});
  const Recipe recipe = std::get<0>(chunk_sm90_gla().code)(problem, on_chip(3, 5, 3));
  ASSERT_EQ(recipe.steps.size(), 1u);
  const auto& launch = std::get<KernelLaunch>(recipe.steps[0]);
  EXPECT_EQ(launch.entry, "chunk_sm90");
  EXPECT_EQ(launch.grid.x, 32u * 3);
  EXPECT_EQ(launch.block.x, 640u);
  EXPECT_TRUE(chunk_sm90_gla().workspace(problem, on_chip(3, 5, 3)).empty());
  const Traffic once = chunk_sm90_gla().traffic(problem, tile(1, 1, 3, 1));
  const Traffic joined = chunk_sm90_gla().traffic(problem, on_chip(3, 5, 3));
  EXPECT_EQ(joined.read_bytes, once.read_bytes);
  EXPECT_EQ(joined.write_bytes, once.write_bytes);
  // Of three segments one is walked twice.
  const double twice = chunk_sm90_gla().flops(problem, on_chip(3, 5, 3)) -
                       chunk_sm90_gla().flops(problem, tile(1, 1, 3, 1));
  EXPECT_NEAR(twice, 2.0 * 1024 * 16 * 2 * 64 * 64 / 3, 1.0);
  EXPECT_EQ(chunk_sm90_gla().flops(problem, on_chip(3, 5, 2)),
            chunk_sm90_gla().flops(problem, tile(1, 1, 3, 1)));
}

TEST(ChunkSm90, AStateThatIsPassedOnAndTheGroupsOwnScratchHaveTheirPlaces) {
  const ChunkSm90Layout plain{64, 1, 1, 1, 3, 5, true}, apart{64, 1, 1, 1, 3, 5, true, true},
      joined{64, 1, 1, 1, 3, 5, true, true, true};
  EXPECT_EQ(apart.together, 1);
  EXPECT_EQ(apart.decays - apart.sums, 3 * apart.scratch_bytes);
  EXPECT_EQ(plain.decays - plain.sums, plain.scratch_bytes);
  EXPECT_EQ(joined.outputs - joined.passed, 64 * 64 * 4);
  EXPECT_EQ(joined.barriers - joined.decays, 5 * 64 * 4);
  EXPECT_EQ(joined.exchange % 8, 0);
  EXPECT_EQ(joined.passed % 16, 0);
  EXPECT_LE(joined.bytes, 232448);
}

// Gates in float32 are read until the scores are formed, which alone take their place.
TEST(ChunkSm90, WideGatesHaveTwiceTheTilesAndTablesBehindThem) {
  for (const int keys : {64, 128, 256}) {
    const ChunkSm90Layout narrow{keys, 1, 1, 1, 2, 2, true},
        wide{keys, 1, 1, 1, 2, 2, true, false, false, true};
    EXPECT_EQ(wide.gate_tiles, 2 * narrow.gate_tiles);
    EXPECT_EQ(wide.gate_columns * 4, 128);
    EXPECT_EQ(wide.arriving_gates, 2 * narrow.arriving_gates);
    EXPECT_EQ(wide.factor, wide.gates + wide.gate_tiles * ChunkSm90Layout::tile_bytes);
    EXPECT_LE(wide.scores + ChunkSm90Layout::tile_bytes, wide.factor);
    EXPECT_LE(wide.tables_end, wide.stage_bytes);
    EXPECT_EQ(wide.stage_bytes % 1024, 0);
  }
}

TEST(ChunkSm90, MapsFollowTheDtypeOfTheGatesAndTheRowsOfAProjection) {
  Problem problem = wide({2, 4096, 3, 128, 64});
  problem.options = {{"gate_dtype", "float32"}, {"packed", "true"}};
  const Tile chosen = tile(1, 1, 2, 1);
  EXPECT_EQ(refusal(problem, chosen), "taken");
  const Recipe recipe = std::get<0>(chunk_sm90_gla().code)(problem, chosen);
  const auto map = [&](const std::string& name) {
    return *std::find_if(recipe.tensor_maps.begin(), recipe.tensor_maps.end(),
                         [&](const TensorMap& one) { return one.buffer == name; });
  };
  const std::int64_t row = 3 * (2 * 128 + 64);
  for (const char* name : {"q", "k", "v"}) {
    const std::int64_t dim = name == std::string("v") ? 64 : 128;
    EXPECT_EQ(map(name).strides, (std::vector<std::int64_t>{row, dim, 4096 * row})) << name;
    EXPECT_EQ(map(name).extents, (std::vector<std::int64_t>{dim, 4096, 3, 2})) << name;
    EXPECT_EQ(map(name).box, (std::vector<int>{64, 64, 1, 1})) << name;
  }
  EXPECT_EQ(map("o").strides, (std::vector<std::int64_t>{3 * 64, 64, 4096 * 3 * 64}));
  EXPECT_EQ(map("g").dtype, DType::float32);
  EXPECT_EQ(map("g").strides, (std::vector<std::int64_t>{3 * 128, 128, 4096 * 3 * 128}));
  EXPECT_EQ(map("g").box, (std::vector<int>{32, 64, 1, 1}));
  problem.options.erase("packed");
  const Traffic with = chunk_sm90_gla().traffic(problem, chosen);
  problem.options.clear();
  EXPECT_EQ(with.read_bytes - chunk_sm90_gla().traffic(problem, chosen).read_bytes,
            2.0 * 4096 * 3 * 128 * 2);
}

TEST(ChunkSm90, WideGatesTakeNoMoreStagesThanFit) {
  Problem problem = wide({8, 4096, 16, 128, 128});
  EXPECT_EQ(refusal(problem, tile(2, 1, 3, 1)), "taken");
  problem.options = {{"gate_dtype", "float32"}};
  EXPECT_EQ(refusal(problem, tile(2, 1, 2, 1)), "taken");
  EXPECT_NE(refusal(problem, tile(2, 1, 3, 1)).find("shared memory"), std::string::npos);
}

TEST(ChunkSm90, TablesFitWhereTheGatesWere) {
  for (const int keys : {64, 128, 256}) {
    const ChunkSm90Layout sizes{keys, 1, 1, 1, 2, 2, true};
    EXPECT_LE(sizes.tables_end, sizes.stage_bytes) << keys;
    EXPECT_EQ(sizes.stage_bytes % 1024, 0) << keys;
    // Each thread that prepares has one of the blocks, and keys that are 16 bytes at most.
    EXPECT_EQ(sizes.keys / sizes.neighbours * sizes.blocks, 128 * sizes.together) << keys;
    EXPECT_LE(sizes.neighbours, 8) << keys;
    EXPECT_LE(sizes.bytes, 232448) << keys;
  }
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
