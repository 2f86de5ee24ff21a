#include <gtest/gtest.h>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/chunk/walk.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& fused_variant() {
  static const Variant v = chunk_fused(gla_member());
  return v;
}

TEST(ChunkFused, LaunchCoversEverySliceOfEverySequence) {
  int accepted = 0;
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(fused_variant().space)) {
      if (fused_variant().reject(problem, tile, h200())) continue;
      ++accepted;
      const Recipe recipe = std::get<0>(fused_variant().code)(problem, tile);
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
    EXPECT_EQ(fused_variant().reject(problem, default_tile(fused_variant().space), h200()),
              std::nullopt)
        << dim;
  }
}

TEST(ChunkFused, EveryShapeAndDtypeHasATile) {
  expect_a_tile_for_all_sizes(fused_variant());
}

TEST(ChunkFused, RejectsByNameAndNeverThrows) {
  expect_total_reject(fused_variant());
}

TEST(ChunkFused, AcceptedTilesFitTheLimits) {
  expect_launches_within(fused_variant(), h200());
}

TEST(ChunkFused, MovesAtLeastTheFloor) {
  expect_traffic_above_floor(fused_variant());
}

TEST(ChunkFused, SlicesShareWhatTheyReadInTheCache) {
  const Problem problem = gla(DType::bfloat16, {2, 100, 3, 64, 128});
  Tile tile = default_tile(fused_variant().space);
  tile["block_v"] = 128;
  const double once = fused_variant().traffic(problem, tile).read_bytes;
  tile["block_v"] = 32;
  EXPECT_EQ(fused_variant().traffic(problem, tile).read_bytes, once);
}

TEST(ChunkFused, DeclaresTheArithmeticOfItsProducts) {
  Tile tile = default_tile(fused_variant().space);
  EXPECT_EQ(fused_variant().arithmetic(gla(DType::bfloat16, {}), tile), Arithmetic::bfloat16);
  EXPECT_EQ(fused_variant().arithmetic(gla(DType::float16, {}), tile), Arithmetic::float16);
  EXPECT_EQ(fused_variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::tf32);
  tile["terms"] = 3;
  EXPECT_EQ(fused_variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::float32);
}

TEST(ChunkFused, RefusesThreeTermsForSixteenBits) {
  Tile tile = default_tile(fused_variant().space);
  tile["terms"] = 3;
  const auto reason = fused_variant().reject(gla(DType::float16, {1, 64, 1, 64, 64}), tile, h200());
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("terms=3"), std::string::npos);
}

TEST(ChunkFused, ServesEveryMemberWithEveryOption) {
  expect_every_member_and_option(chunk_fused);
}

TEST(ChunkFused, ReadsWhatDecaysOnce) {
  for (const Member& member : members()) {
    const Variant v = chunk_fused(member);
    const Problem problem = problem_of(member.op, DType::bfloat16, {1, 1000, 2, 64, 128});
    Tile tile = default_tile(v.space);
    tile["block_v"] = 64;
    const double gates = member.decay == Decay::per_key     ? 1000 * 2 * 64 * 2.0
                         : member.decay == Decay::per_token ? 1000 * 2 * 2.0
                         : member.decay == Decay::per_head  ? 2 * 4.0
                                                            : 0.0;
    const double bonus = member.before_update ? 2 * 64 * 2.0 : 0.0;
    EXPECT_EQ(v.traffic(problem, tile).read_bytes,
              2 * 1000 * 2 * 64 * 2.0 + gates + bonus + 1000 * 2 * 128 * 2.0)
        << member.op;
  }
}

TEST(ChunkFused, RaggedSequencesEachHaveBlocks) {
  Problem problem = gla(DType::bfloat16, {1, 1000, 3, 64, 64});
  problem.shape.sequences = 7;
  const Recipe recipe =
      std::get<0>(fused_variant().code)(problem, default_tile(fused_variant().space));
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[0]).grid.x, 7u * 3);
}

// Every slice of V reads the initial normalizer, one writes the final one.
TEST(ChunkFused, NormalizersInPlaceTakeOneSlice) {
  const Variant v = chunk_fused(member_of(problem_of("linear_attention", DType::float32, {})));
  Problem problem = problem_of("linear_attention", DType::bfloat16, {2, 100, 3, 64, 72});
  problem.initial_state = true;
  problem.options = {{"normalize", "true"}, {"in_place", "true"}};
  Tile tile = default_tile(v.space);
  tile["block_v"] = 64;
  const std::optional<std::string> reason = v.reject(problem, tile, h200());
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("normalizer"), std::string::npos) << *reason;
  tile["block_v"] = 128;
  EXPECT_EQ(v.reject(problem, tile, h200()), std::nullopt);
  tile["block_v"] = 64;
  problem.options.erase("in_place");
  EXPECT_EQ(v.reject(problem, tile, h200()), std::nullopt);
}

// Without decays per key nothing but k, q and v waits in shared memory: room for a third stage.
TEST(ChunkFused, ThreeStagesOnlyWithoutDecaysPerKey) {
  for (const Member& member : members()) {
    const Variant v = chunk_fused(member);
    const Problem problem = problem_of(member.op, DType::bfloat16, {1, 1000, 2, 128, 128});
    Tile tile = default_tile(v.space);
    tile["stages"] = 3;
    EXPECT_EQ(v.reject(problem, tile, h200()).has_value(), member.decay == Decay::per_key)
        << member.op;
  }
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
