#include <gtest/gtest.h>

#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& variant() {
  static const Variant v = chunk_materialized(gla_member());
  return v;
}

Recipe recipe_of(const Problem& problem, const Tile& tile) {
  return std::get<0>(variant().code)(problem, tile);
}

TEST(ChunkMaterialized, LaunchesStatesScanAndOutputs) {
  const Problem problem = gla(DType::bfloat16, {2, 1000, 3, 100, 72});
  const Recipe recipe = recipe_of(problem, default_tile(variant().space));
  ASSERT_EQ(recipe.steps.size(), 3u);
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[0]).entry, "chunk_states");
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[1]).entry, "chunk_scan");
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[2]).entry, "chunk_outputs");
}

TEST(ChunkMaterialized, GridsCoverEveryChunkAndEveryElementOfTheState) {
  for (const std::int64_t seq : {1, 255, 256, 257, 1000})
    for (const std::int64_t value_dim : {1, 19, 64, 72}) {
      const Problem problem = gla(DType::float32, {2, seq, 3, 37, value_dim});
      Tile tile = default_tile(variant().space);
      tile["block_v"] = 16;
      const Recipe recipe = recipe_of(problem, tile);
      const std::int64_t tuples = sequences(problem) * ceil_div(seq, tile.at("chunk")) *
                                  ceil_div(value_dim, tile.at("block_v"));
      EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[0]).grid.x, tuples);
      EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[2]).grid.x, tuples);
      const auto& scan = std::get<KernelLaunch>(recipe.steps[1]);
      const std::int64_t width = value_dim % 4 == 0 ? 4 : 1;
      EXPECT_GE(scan.grid.x * 32 * width, sequences(problem) * 37 * value_dim);
      EXPECT_EQ(scan.block.x, 32u * static_cast<unsigned>(tile.at("scan_warps")));
    }
}

TEST(ChunkMaterialized, WorkspaceHoldsAStateAndItsDecaysPerChunk) {
  const Problem problem = gla(DType::bfloat16, {2, 513, 3, 100, 72});
  const auto regions = variant().workspace(problem, default_tile(variant().space));
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].bytes, 6u * 3 * 100 * 72 * 4);
  EXPECT_EQ(regions[1].bytes, 6u * 3 * 100 * 4);
}

TEST(ChunkMaterialized, LongerChunksMoveLess) {
  const Problem problem = gla(DType::bfloat16, {2, 4096, 3, 128, 128});
  Tile tile = default_tile(variant().space);
  tile["chunk"] = 64;
  const Traffic small = variant().traffic(problem, tile);
  tile["chunk"] = 256;
  const Traffic large = variant().traffic(problem, tile);
  EXPECT_LT(large.read_bytes, small.read_bytes);
  EXPECT_LT(large.write_bytes, small.write_bytes);
}

TEST(ChunkMaterialized, EveryShapeAndDtypeHasATile) {
  expect_a_tile_for_all_sizes(variant());
}

TEST(ChunkMaterialized, RejectsByNameAndNeverThrows) {
  expect_total_reject(variant());
}

TEST(ChunkMaterialized, AcceptedTilesFitTheLimits) {
  expect_launches_within(variant(), h200());
}

TEST(ChunkMaterialized, MovesAtLeastTheFloor) {
  expect_traffic_above_floor(variant());
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
