#include <gtest/gtest.h>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/recurrent/layout.h"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& recurrent_gla() {
  static const Variant v = recurrent(gla_member());
  return v;
}

TEST(Recurrent, LaunchCoversEveryColumnAndKey) {
  int accepted = 0;
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(recurrent_gla().space)) {
      if (recurrent_gla().reject(problem, tile, h200())) continue;
      ++accepted;
      const Recipe recipe = std::get<0>(recurrent_gla().code)(problem, tile);
      ASSERT_EQ(recipe.steps.size(), 1u);
      const auto& launch = std::get<KernelLaunch>(recipe.steps[0]);
      const std::int64_t slices = launch.grid.x / sequences(problem);
      EXPECT_EQ(launch.grid.x % sequences(problem), 0);
      EXPECT_GE(slices * tile.at("block_v"), problem.shape.value_dim);
      EXPECT_LT((slices - 1) * tile.at("block_v"), problem.shape.value_dim);
      EXPECT_EQ(launch.block.x % 32, 0u);
      EXPECT_EQ(launch.block.x * tile.at("columns"),
                static_cast<unsigned>(tile.at("block_v") * tile.at("lanes")));
    }
  EXPECT_GT(accepted, 100);
}

TEST(Recurrent, LanesCoverTheKeysInQuads) {
  for (const int key : {1, 3, 4, 5, 31, 32, 33, 100, 511, 512})
    for (const int lanes : {2, 4, 8, 16}) {
      const RecurrentLayout at{key, 2, 2, 32, lanes, 1, 8, 2};
      EXPECT_EQ(at.slice % 4, 0);
      EXPECT_GE(at.padded_key, key);
      EXPECT_LT(at.padded_key - 4 * lanes, key);
      EXPECT_EQ(at.key_pitch * 2 % 16, 0);
      EXPECT_EQ(at.stage_bytes % 16, 0);
    }
}

TEST(Recurrent, DefaultTileServesCommonShapes) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    for (const std::int64_t dim : {1, 64, 100, 128, 256, 512})
      EXPECT_EQ(recurrent_gla().reject(gla(dtype, {2, 1000, 3, dim, dim}),
                                       default_tile(recurrent_gla().space), h200()),
                std::nullopt)
          << dim;
}

TEST(Recurrent, EveryShapeAndDtypeHasATile) {
  expect_a_tile_for_all_sizes(recurrent_gla());
}

TEST(Recurrent, RejectsByNameAndNeverThrows) {
  expect_total_reject(recurrent_gla());
}

TEST(Recurrent, NamesTheStateThatDoesNotFitRegisters) {
  Tile tile = default_tile(recurrent_gla().space);
  tile["block_v"] = 64;
  tile["lanes"] = 2;
  tile["columns"] = 4;
  const auto reason =
      recurrent_gla().reject(gla(DType::bfloat16, {1, 64, 1, 128, 64}), tile, h200());
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("256 registers of state"), std::string::npos) << *reason;
}

TEST(Recurrent, AcceptedTilesFitTheLimits) {
  expect_launches_within(recurrent_gla(), h200());
}

TEST(Recurrent, MovesAtLeastTheFloor) {
  expect_traffic_above_floor(recurrent_gla());
}

TEST(Recurrent, DecodingReadsAndWritesTheStateOnce) {
  Problem problem = gla(DType::bfloat16, {4, 1, 2, 64, 32});
  const Tile tile = default_tile(recurrent_gla().space);
  const Traffic without = recurrent_gla().traffic(problem, tile);
  problem.initial_state = true;
  const Traffic with = recurrent_gla().traffic(problem, tile);
  EXPECT_EQ(with.read_bytes - without.read_bytes, 4 * 2 * 64 * 32 * 4.0);
  EXPECT_EQ(with.write_bytes, 4 * 2 * 32 * 2.0 + 4 * 2 * 64 * 32 * 4.0);
}

// Every member with every option: a tile, launches within the limits, at least the floor's bytes
// and operations.
TEST(Recurrent, ServesEveryMemberWithEveryOption) {
  for (const Member& member : members()) {
    const Variant v = recurrent(member);
    const Operator* op = find_operator(member.op);
    ASSERT_NE(op, nullptr) << member.op;
    for (const Problem& problem : problems_with_options(member.op)) {
      const Tile tile = default_tile(v.space);
      EXPECT_EQ(v.reject(problem, tile, h200()), std::nullopt) << describe(problem);
      const Traffic traffic = v.traffic(problem, tile);
      EXPECT_GE(traffic.read_bytes + traffic.write_bytes, op->work(problem).floor_bytes)
          << describe(problem);
      EXPECT_GE(v.flops(problem, tile), op->work(problem).flops) << describe(problem);
      const Recipe recipe = std::get<0>(v.code)(problem, tile);
      const auto& launch = std::get<KernelLaunch>(recipe.steps.at(0));
      EXPECT_LE(launch.shared_bytes, h200().shared_per_block);
      EXPECT_EQ(launch.grid.x, sequences(problem) * ceil_div(72, tile.at("block_v")));
    }
  }
}

// Every slice of V reads the initial normalizer, one writes the final one: in place it must wait.
TEST(Recurrent, NormalizersInPlaceAreWrittenAfterAllSlicesHaveReadThem) {
  const Variant v = recurrent(member_of(problem_of("linear_attention", DType::float32, {})));
  Problem problem = problem_of("linear_attention", DType::float32, {2, 100, 3, 64, 72});
  problem.initial_state = true;
  problem.options = {{"normalize", "true"}, {"in_place", "true"}};
  const auto launches = [&](int block_v) {
    Tile tile = default_tile(v.space);
    tile["block_v"] = block_v;
    const auto steps = std::get<0>(v.code)(problem, tile).steps.size();
    EXPECT_EQ(v.workspace(problem, tile).size() + 1, steps);
    return steps;
  };
  EXPECT_EQ(launches(32), 2u);
  problem.shape.value_dim = 32;
  EXPECT_EQ(launches(32), 1u);
  problem.shape.value_dim = 72;
  problem.options.erase("in_place");
  EXPECT_EQ(launches(32), 1u);
}

TEST(Recurrent, StagesGatesOnlyWhereThereIsOnePerKey) {
  for (const Member& member : members()) {
    const Variant v = recurrent(member);
    const Problem problem = problem_of(member.op, DType::bfloat16, {1, 1000, 1, 128, 128});
    const double gates = member.decay == Decay::per_key     ? 1000 * 128 * 2.0
                         : member.decay == Decay::per_token ? 1000 * 2.0
                         : member.decay == Decay::per_head  ? 4.0
                                                            : 0.0;
    const double bonus = member.before_update ? 128 * 2.0 : 0.0;
    EXPECT_EQ(v.traffic(problem, default_tile(v.space)).read_bytes,
              2 * 1000 * 128 * 2.0 + gates + 1000 * 128 * 2.0 + bonus)
        << member.op;
  }
}

TEST(Recurrent, DeclaresFloat32) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    EXPECT_EQ(recurrent_gla().arithmetic(gla(dtype, {}), default_tile(recurrent_gla().space)),
              Arithmetic::float32);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
