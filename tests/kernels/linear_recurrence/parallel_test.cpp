#include <gtest/gtest.h>

#include "harness/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/parallel_layout.h"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& variant() {
  static const Variant v = parallel(gla_member());
  return v;
}

TEST(Parallel, LaunchesCoverEveryQueryBlockColumnAndKey) {
  int accepted = 0;
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(variant().space)) {
      if (variant().reject(problem, tile, h200())) continue;
      ++accepted;
      const Recipe recipe = std::get<0>(variant().code)(problem, tile);
      ASSERT_EQ(recipe.steps.size(), problem.final_state ? 2u : 1u);
      const auto& outputs = std::get<KernelLaunch>(recipe.steps[0]);
      const std::int64_t slices = ceil_div(problem.shape.value_dim, tile.at("block_v"));
      const std::int64_t blocks = ceil_div(problem.shape.seq, tile.at("block"));
      EXPECT_EQ(outputs.grid.x, sequences(problem) * slices * blocks);
      EXPECT_EQ(outputs.block.x / 32 * 16, static_cast<unsigned>(tile.at("block")));
      if (!problem.final_state) continue;
      const auto& state = std::get<KernelLaunch>(recipe.steps[1]);
      const std::int64_t chunks = state.grid.x / (sequences(problem) * slices);
      EXPECT_GE(chunks * (state.block.x / 32 * 16), problem.shape.key_dim);
      EXPECT_LT((chunks - 1) * (state.block.x / 32 * 16), problem.shape.key_dim);
    }
  EXPECT_GT(accepted, 100);
}

TEST(Parallel, SharedMemoryRegionsDoNotOverlapAndAreAligned) {
  for (const int key : {1, 16, 17, 100, 128, 512})
    for (const int bytes : {2, 4})
      for (const int block : {32, 64, 128})
        for (const int block_k : {32, 64, 128}) {
          const ParallelLayout at{key, 64, bytes, bytes, block, block_k, 64};
          EXPECT_GE(at.keys, key);
          EXPECT_EQ(at.chunk % 16, 0);
          for (const int offset :
               {at.key_tile, at.values, at.sums, at.decays, at.operand, at.queries})
            EXPECT_EQ(offset % 16, 0);
          EXPECT_GE(at.sums - at.values, 2 * block * at.value_ld * bytes);
          EXPECT_GE(at.decays - at.sums, block / 8 * at.chunk * 4);
          EXPECT_GE(at.operand - at.decays, at.keys * 4);
          EXPECT_GE(at.queries - at.operand, at.chunk * at.value_ld * bytes);
          EXPECT_GE(at.shared_bytes - at.queries, block * at.query_ld * bytes);
          EXPECT_GE(at.shared_bytes, at.outputs);
        }
}

TEST(Parallel, DefaultTileServesCommonShapes) {
  for (const std::int64_t dim : {1, 64, 100, 128, 256, 512})
    EXPECT_EQ(variant().reject(gla(DType::bfloat16, {2, 1000, 3, dim, dim}),
                               default_tile(variant().space), h200()),
              std::nullopt)
        << dim;
}

TEST(Parallel, EveryShapeAndDtypeHasATile) {
  expect_a_tile_for_all_sizes(variant());
}

TEST(Parallel, RejectsByNameAndNeverThrows) {
  expect_total_reject(variant());
}

TEST(Parallel, AcceptedTilesFitTheLimits) {
  expect_launches_within(variant(), h200());
}

// Bytes only: with few tokens the quadratic form has fewer operations than the recurrence.
TEST(Parallel, MovesAtLeastTheFloor) {
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(variant().space)) {
      if (variant().reject(problem, tile, h200())) continue;
      const Traffic traffic = variant().traffic(problem, tile);
      EXPECT_GE(traffic.read_bytes + traffic.write_bytes,
                find_operator("gla")->work(problem).floor_bytes)
          << describe(problem) << " " << describe(tile);
      EXPECT_GT(variant().flops(problem, tile), 0);
    }
}

TEST(Parallel, WorkGrowsWithTheSquareOfTheLength) {
  const Tile tile = default_tile(variant().space);
  Problem problem = gla(DType::bfloat16, {1, 64 * 100, 1, 64, 64});
  problem.final_state = false;
  const double once = variant().flops(problem, tile);
  problem.shape.seq *= 2;
  EXPECT_NEAR(variant().flops(problem, tile) / once, 4.0, 0.05);
}

TEST(Parallel, DeclaresTheArithmeticOfItsProducts) {
  Tile tile = default_tile(variant().space);
  EXPECT_EQ(variant().arithmetic(gla(DType::bfloat16, {}), tile), Arithmetic::bfloat16);
  EXPECT_EQ(variant().arithmetic(gla(DType::float16, {}), tile), Arithmetic::float16);
  EXPECT_EQ(variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::tf32);
  tile["terms"] = 3;
  EXPECT_EQ(variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::float32);
  const auto reason = variant().reject(gla(DType::float16, {1, 64, 1, 64, 64}), tile, h200());
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("terms=3"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
