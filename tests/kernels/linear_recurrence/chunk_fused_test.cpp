#include <gtest/gtest.h>

#include "harness/operator.hpp"
#include "kernels/linear_recurrence/chunk_walk.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& variant() {
  static const Variant v = chunk_fused(gla_member());
  return v;
}

TEST(ChunkFused, LaunchCoversEverySliceOfEverySequence) {
  int accepted = 0;
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(variant().space)) {
      if (variant().reject(problem, tile, h200())) continue;
      ++accepted;
      const Recipe recipe = std::get<0>(variant().code)(problem, tile);
      ASSERT_EQ(recipe.steps.size(), 1u);
      const auto& launch = std::get<KernelLaunch>(recipe.steps[0]);
      const std::int64_t block_v = tile.at("block_v"), blocks = launch.grid.x;
      const std::int64_t slices = blocks / sequences(problem);
      EXPECT_EQ(blocks % sequences(problem), 0);
      EXPECT_GE(slices * block_v, problem.shape.value_dim);
      EXPECT_LT((slices - 1) * block_v, problem.shape.value_dim);
      EXPECT_EQ(launch.block.x % 32, 0u);
      EXPECT_LE(launch.block.x, 1024u);
      // The warps own the block's columns and keys, each column and key once.
      const std::int64_t warps = launch.block.x / 32;
      EXPECT_EQ(warps * tile.at("warp_v"), block_v * tile.at("warps_k"));
    }
  EXPECT_GT(accepted, 100);
}

TEST(ChunkFused, DefaultTileServesCommonShapes) {
  for (const std::int64_t dim : {64, 128, 256}) {
    const Problem problem = gla(DType::bfloat16, {2, 1000, 3, dim, dim});
    EXPECT_EQ(variant().reject(problem, default_tile(variant().space), h200()), std::nullopt)
        << dim;
  }
}

TEST(ChunkFused, EveryShapeAndDtypeHasATile) {
  expect_a_tile_for_all_sizes(variant());
}

TEST(ChunkFused, RejectsByNameAndNeverThrows) {
  expect_total_reject(variant());
}

TEST(ChunkFused, AcceptedTilesFitTheLimits) {
  expect_launches_within(variant(), h200());
}

TEST(ChunkFused, MovesAtLeastTheFloor) {
  expect_traffic_above_floor(variant());
}

TEST(ChunkFused, ReadsKeysOncePerSlice) {
  const Problem problem = gla(DType::bfloat16, {2, 100, 3, 64, 128});
  Tile tile = default_tile(variant().space);
  tile["block_v"] = 128;
  const double once = variant().traffic(problem, tile).read_bytes;
  tile["block_v"] = 32;
  EXPECT_EQ(variant().traffic(problem, tile).read_bytes - once, 3 * 3 * key_bytes(problem));
}

TEST(ChunkFused, DeclaresTheArithmeticOfItsProducts) {
  Tile tile = default_tile(variant().space);
  EXPECT_EQ(variant().arithmetic(gla(DType::bfloat16, {}), tile), Arithmetic::bfloat16);
  EXPECT_EQ(variant().arithmetic(gla(DType::float16, {}), tile), Arithmetic::float16);
  EXPECT_EQ(variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::tf32);
  tile["terms"] = 3;
  EXPECT_EQ(variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::float32);
}

TEST(ChunkFused, RefusesThreeTermsForSixteenBits) {
  Tile tile = default_tile(variant().space);
  tile["terms"] = 3;
  const auto reason = variant().reject(gla(DType::float16, {1, 64, 1, 64, 64}), tile, h200());
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("terms=3"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
