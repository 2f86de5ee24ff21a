#include <gtest/gtest.h>

#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& chunk_pipeline_gla() {
  static const Variant v = chunk_pipeline(gla_member());
  return v;
}

TEST(ChunkPipeline, StartsFromTheSourcesChunkOf16) {
  EXPECT_EQ(default_tile(chunk_pipeline_gla().space).at("chunk"), 16);
}

TEST(ChunkPipeline, FiveLaunchesCoverChunksAndBlocks) {
  int accepted = 0;
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(chunk_pipeline_gla().space)) {
      if (chunk_pipeline_gla().reject(problem, tile, h200())) continue;
      ++accepted;
      const Recipe recipe = std::get<0>(chunk_pipeline_gla().code)(problem, tile);
      ASSERT_EQ(recipe.steps.size(), 5u);
      const auto launch = [&](std::size_t i) { return std::get<KernelLaunch>(recipe.steps[i]); };
      const std::int64_t chunks = ceil_div(problem.shape.seq, tile.at("chunk"));
      const std::int64_t blocks_k = ceil_div(problem.shape.key_dim, tile.at("block_k"));
      const std::int64_t blocks_v = ceil_div(problem.shape.value_dim, tile.at("block_v"));
      const std::int64_t all = sequences(problem);
      EXPECT_EQ(launch(0).grid.x, all * chunks * blocks_k);
      EXPECT_EQ(launch(1).grid.x, all * chunks * blocks_k);
      EXPECT_EQ(launch(2).grid.x, all * blocks_k * blocks_v);
      EXPECT_EQ(launch(3).grid.x, all * chunks * blocks_k);
      EXPECT_EQ(launch(4).grid.x, all * chunks * blocks_v);
      EXPECT_EQ(launch(2).block.x * 16, 32u * static_cast<unsigned>(tile.at("block_v")));
    }
  EXPECT_GT(accepted, 100);
}

TEST(ChunkPipeline, WorkspaceHoldsPaddedTokensAndKeys) {
  Tile tile = default_tile(chunk_pipeline_gla().space);
  tile["block_k"] = 64;
  const Problem problem = gla(DType::bfloat16, {2, 17, 3, 100, 72});  // 32 tokens, 112 keys
  const std::vector<Region> regions = chunk_pipeline_gla().workspace(problem, tile);
  ASSERT_EQ(regions.size(), 5u);
  EXPECT_EQ(regions[0].bytes, 6u * 32 * 112 * 4);
  EXPECT_EQ(regions[1].bytes, 6u * 32 * 112 * 2);
  EXPECT_EQ(regions[2].bytes, regions[1].bytes);
  EXPECT_EQ(regions[3].bytes, 2u * 6 * 32 * 72 * 4);  // two blocks of K: two partial results
  EXPECT_EQ(regions[4].bytes, 2u * 6 * 32 * 16 * 4);
}

TEST(ChunkPipeline, SumsGatesInFloat64WhereItDeclaresFloat32) {
  Tile tile = default_tile(chunk_pipeline_gla().space);
  const Problem problem = gla(DType::float32, {1, 64, 1, 64, 64});
  const std::size_t bytes = chunk_pipeline_gla().workspace(problem, tile)[0].bytes;
  tile["terms"] = 3;
  EXPECT_EQ(chunk_pipeline_gla().workspace(problem, tile)[0].bytes, 2 * bytes);
}

TEST(ChunkPipeline, EveryShapeAndDtypeHasATile) {
  expect_a_tile_for_all_sizes(chunk_pipeline_gla());
}

TEST(ChunkPipeline, RejectsByNameAndNeverThrows) {
  expect_total_reject(chunk_pipeline_gla());
}

TEST(ChunkPipeline, AcceptedTilesFitTheLimits) {
  expect_launches_within(chunk_pipeline_gla(), h200());
}

TEST(ChunkPipeline, MovesAtLeastTheFloor) {
  expect_traffic_above_floor(chunk_pipeline_gla());
}

TEST(ChunkPipeline, RefusesByNameWhatItLacks) {
  const auto reason = [](const Problem& problem) {
    return chunk_pipeline_gla()
        .reject(problem, default_tile(chunk_pipeline_gla().space), h200())
        .value_or("accepted");
  };
  Problem problem = gla(DType::bfloat16, {1, 100, 3, 64, 72});
  problem.options = {{"state_layout", "value_first"}};
  EXPECT_EQ(reason(problem), "accepted");
  problem.options = {{"state_dtype", "bfloat16"}};
  EXPECT_NE(reason(problem).find("float32"), std::string::npos);
  problem.options.clear();
  problem.shape.sequences = 3;
  EXPECT_NE(reason(problem).find("cu_seqlens"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
