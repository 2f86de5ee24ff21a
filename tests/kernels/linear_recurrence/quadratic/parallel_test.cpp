#include <gtest/gtest.h>

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/quadratic/layout.h"
#include "kernels/linear_recurrence/refusal.hpp"
#include "kernels/linear_recurrence/variants.hpp"
#include "tests/kernels/linear_recurrence/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

const Variant& parallel_variant() {
  static const Variant v = parallel(gla_member());
  return v;
}

TEST(Parallel, LaunchesCoverEveryQueryBlockColumnAndKey) {
  int accepted = 0;
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(parallel_variant().space)) {
      if (parallel_variant().reject(problem, tile, h200())) continue;
      ++accepted;
      const Recipe recipe = std::get<0>(parallel_variant().code)(problem, tile);
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
          const ParallelLayout at{key, 64, bytes, bytes, bytes, block, block_k, 64};
          EXPECT_GE(at.keys, key);
          EXPECT_EQ(at.chunk % 16, 0);
          for (const int offset :
               {at.key_tile, at.values, at.sums, at.decays, at.operand, at.queries})
            EXPECT_EQ(offset % 16, 0);
          const ParallelLayout scalar{key, 64, bytes, bytes, bytes, block, block_k, 64, 0, 1, 1, 0};
          for (const int offset : {scalar.values, scalar.prefixes, scalar.factors, scalar.rows,
                                   scalar.operand, scalar.queries})
            EXPECT_EQ(offset % 16, 0);
          EXPECT_EQ(scalar.factors - scalar.prefixes, block * 8);
          EXPECT_EQ(scalar.rows - scalar.factors, 2 * (block + 4) * 4);
          EXPECT_EQ(scalar.operand - scalar.rows, block * 4);
          EXPECT_GE(at.sums - at.values, 2 * block * at.value_ld * bytes);
          EXPECT_GE(at.decays - at.sums, block / 8 * at.chunk * 4);
          EXPECT_GE(at.operand - at.decays, at.keys * 4);
          EXPECT_GE(at.queries - at.operand, at.chunk * at.value_ld * bytes);
          EXPECT_GE(at.shared_bytes - at.queries, block * at.query_ld * bytes);
          EXPECT_GE(at.shared_bytes, at.outputs);
        }
}

// Every member with every option: launches within the limits, at least the floor's bytes.
TEST(Parallel, ServesEveryMemberWithEveryOption) {
  for (const Member& member : members()) {
    const Variant v = parallel(member);
    const Operator* op = find_operator(member.op);
    ASSERT_NE(op, nullptr) << member.op;
    for (const Problem& problem : problems_with_options(member.op)) {
      const Tile tile = default_tile(v.space);
      ASSERT_EQ(v.reject(problem, tile, h200()), std::nullopt) << describe(problem);
      const Traffic traffic = v.traffic(problem, tile);
      EXPECT_GE(traffic.read_bytes + traffic.write_bytes, op->work(problem).floor_bytes)
          << describe(problem);
      EXPECT_GT(v.flops(problem, tile), 0);
      for (const Step& step : std::get<0>(v.code)(problem, tile).steps) {
        const auto& launch = std::get<KernelLaunch>(step);
        EXPECT_LE(launch.shared_bytes, h200().shared_per_block) << describe(problem);
        EXPECT_EQ(launch.block.x % 32, 0u);
      }
    }
  }
}

// Sequence n has the places from cu_seqlens[n] / block + n on: as many as it has blocks, whatever
// the lengths.
TEST(Parallel, RaggedSequencesHavePlacesForAllTheirBlocks) {
  const Variant v = parallel(gla_member());
  const Tile tile = default_tile(v.space);
  const std::int64_t block = tile.at("block");
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{1}, {0, 1, 63, 64, 65, 0}, {200, 0, 0, 1}, {64, 64}, {0, 0}}) {
    std::int64_t first = 0;
    std::vector<std::int64_t> starts, ends;
    for (std::size_t n = 0; n < lengths.size(); ++n) {
      starts.push_back(first / block + static_cast<std::int64_t>(n));
      ends.push_back(starts.back() + ceil_div(lengths[n], block));
      first += lengths[n];
    }
    Problem problem = gla(DType::bfloat16, {1, std::max<std::int64_t>(first, 1), 1, 64, 64});
    problem.shape.sequences = static_cast<std::int64_t>(lengths.size());
    const Recipe recipe = std::get<0>(v.code)(problem, tile);
    const auto places = static_cast<std::int64_t>(std::get<KernelLaunch>(recipe.steps[0]).grid.x);
    for (std::size_t n = 0; n < lengths.size(); ++n)
      EXPECT_LE(ends[n], n + 1 < lengths.size() ? starts[n + 1] : places);
  }
}

// Without a gate per key there are no gate tiles; a row of scalars and factors is far smaller.
TEST(Parallel, ScalarDecaysNeedLessSharedMemory) {
  const auto bytes = [](std::string_view op) {
    const Variant v = parallel(member_of(problem_of(op, DType::bfloat16, {})));
    const Recipe recipe = std::get<0>(v.code)(
        problem_of(op, DType::bfloat16, {1, 1000, 1, 128, 128}), default_tile(v.space));
    return std::get<KernelLaunch>(recipe.steps[0]).shared_bytes;
  };
  EXPECT_LT(bytes("linear_attention"), bytes("simple_gla"));
  EXPECT_LT(bytes("simple_gla") + 2 * 64 * 64 * 2, bytes("gla"));
  EXPECT_GT(bytes("rwkv6"), bytes("gla"));
}

TEST(Parallel, DefaultTileServesCommonShapes) {
  for (const std::int64_t dim : {1, 64, 100, 128, 256, 512})
    EXPECT_EQ(parallel_variant().reject(gla(DType::bfloat16, {2, 1000, 3, dim, dim}),
                                        default_tile(parallel_variant().space), h200()),
              std::nullopt)
        << dim;
}

TEST(Parallel, EveryShapeAndDtypeHasATile) {
  expect_a_tile_for_all_sizes(parallel_variant());
}

TEST(Parallel, RejectsByNameAndNeverThrows) {
  expect_total_reject(parallel_variant());
}

TEST(Parallel, AcceptedTilesFitTheLimits) {
  expect_launches_within(parallel_variant(), h200());
}

// Bytes only: with few tokens the quadratic form has fewer operations than the recurrence.
TEST(Parallel, MovesAtLeastTheFloor) {
  for (const Problem& problem : assorted_problems())
    for (const Tile& tile : all_tiles(parallel_variant().space)) {
      if (parallel_variant().reject(problem, tile, h200())) continue;
      const Traffic traffic = parallel_variant().traffic(problem, tile);
      EXPECT_GE(traffic.read_bytes + traffic.write_bytes,
                find_operator("gla")->work(problem).floor_bytes)
          << describe(problem) << " " << describe(tile);
      EXPECT_GT(parallel_variant().flops(problem, tile), 0);
    }
}

TEST(Parallel, WorkGrowsWithTheSquareOfTheLength) {
  const Tile tile = default_tile(parallel_variant().space);
  Problem problem = gla(DType::bfloat16, {1, 64 * 100, 1, 64, 64});
  problem.final_state = false;
  const double once = parallel_variant().flops(problem, tile);
  problem.shape.seq *= 2;
  EXPECT_NEAR(parallel_variant().flops(problem, tile) / once, 4.0, 0.05);
}

TEST(Parallel, DeclaresTheArithmeticOfItsProducts) {
  Tile tile = default_tile(parallel_variant().space);
  EXPECT_EQ(parallel_variant().arithmetic(gla(DType::bfloat16, {}), tile), Arithmetic::bfloat16);
  EXPECT_EQ(parallel_variant().arithmetic(gla(DType::float16, {}), tile), Arithmetic::float16);
  EXPECT_EQ(parallel_variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::tf32);
  tile["terms"] = 3;
  EXPECT_EQ(parallel_variant().arithmetic(gla(DType::float32, {}), tile), Arithmetic::float32);
  const auto reason =
      parallel_variant().reject(gla(DType::float16, {1, 64, 1, 64, 64}), tile, h200());
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("terms=3"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
