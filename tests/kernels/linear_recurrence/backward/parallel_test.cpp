#include <gtest/gtest.h>

#include "kernels/linear_recurrence/backward/chunk/layout.h"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "tests/kernels/linear_recurrence/backward/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

Variant parallel_of(std::string_view op) {
  return backward_parallel(member_of(problem_of(op, DType::float32, {})));
}

std::vector<KernelLaunch> parallel_launches(const Problem& problem) {
  const Variant variant = parallel_of(problem.op);
  std::vector<KernelLaunch> list;
  for (const Step& step : std::get<0>(variant.code)(problem, default_tile(variant.space)).steps)
    list.push_back(std::get<KernelLaunch>(step));
  return list;
}

std::vector<std::string> parallel_entries(const Problem& problem) {
  std::vector<std::string> list;
  for (const KernelLaunch& launch : parallel_launches(problem)) list.push_back(launch.entry);
  return list;
}

TEST(BackwardParallel, TakesEveryMemberAndOption) {
  expect_backward_of_every_member(backward_parallel);
}

TEST(BackwardParallel, TakesAllSizes) {
  expect_backward_tile_for_all_sizes(parallel_of("gla"));
}

TEST(BackwardParallel, RefusesByNameAndNeverThrows) {
  expect_backward_reject(parallel_of("gla"));
}

TEST(BackwardParallel, LaunchesInTheirOrder) {
  using Entries = std::vector<std::string>;
  Problem problem = backward(gla(DType::bfloat16, {2, 100, 3, 32, 20}));
  problem.initial_state = false;
  EXPECT_EQ(parallel_entries(problem),
            (Entries{"quadratic_operands", "quadratic_readers", "quadratic_gradients"}));
  problem.initial_state = true;
  EXPECT_EQ(parallel_entries(problem), (Entries{"quadratic_operands", "quadratic_readers",
                                                "quadratic_initial", "quadratic_gradients"}));
  Problem normalized = backward(problem_of("linear_attention", DType::float32, {2, 100, 3, 64, 9}));
  normalized.options["normalize"] = "true";
  normalized.initial_state = false;
  EXPECT_EQ(parallel_entries(normalized),
            (Entries{"quadratic_operands", "quadratic_outputs", "gradient_outputs",
                     "quadratic_readers", "quadratic_gradients", "gradient_values"}));
}

TEST(BackwardParallel, BlocksAreThoseOfChunksAndTheInitialStateOfPanels) {
  Problem problem = backward(gla(DType::bfloat16, {2, 130, 3, 100, 72}));
  problem.initial_state = true;
  const std::vector<KernelLaunch> launches = parallel_launches(problem);
  EXPECT_EQ(launches.at(1).grid.x, 2u * 3 * 3 * 4);  // three chunks, four slices
  EXPECT_EQ(launches.at(2).grid.x, 2u * 3 * 4 * 2);  // four slices, two panels
}

TEST(BackwardParallel, WhatPassesAChunkHasARowForEachPair) {
  Problem problem = backward(gla(DType::bfloat16, {2, 130, 3, 100, 72}));
  const Variant variant = parallel_of("gla");
  const Tile tile = default_tile(variant.space);
  const auto bytes = [&](std::string_view name) {
    return region_bytes(variant.workspace(problem, tile), name);
  };
  EXPECT_EQ(bytes("passing"), 2 * 3 * 3 * 3 * 128 * 4);
  EXPECT_EQ(bytes("operands"), 2 * 3 * 3 * 2 * 64 * 128 * 2);
  EXPECT_EQ(bytes("read"), 2 * 3 * 3 * 64 * 128 * 4);
  problem.shape = {1, 130, 3, 100, 72};
  problem.shape.sequences = 5;
  EXPECT_EQ(bytes("passing"), 3 * 7 * 7 * 128 * 4);
  const Problem plain = backward(problem_of("linear_attention", DType::float32, {1, 64, 1, 64, 9}));
  EXPECT_EQ(region_bytes(parallel_of("linear_attention").workspace(plain, tile), "passing"), 0);
}

TEST(BackwardParallel, WorkGrowsWithTheSquareOfTheLength) {
  const Variant variant = parallel_of("gla");
  const Tile tile = default_tile(variant.space);
  const auto flops = [&](std::int64_t seq) {
    return variant.flops(backward(gla(DType::bfloat16, {1, seq, 1, 64, 64})), tile);
  };
  EXPECT_GT(flops(32768), 3.5 * flops(16384));
  // A chunk alone has no pair. Long sequences cost more than through states.
  const Variant chunks =
      backward_chunk_fused(member_of(backward(gla(DType::bfloat16, {1, 64, 1, 64, 64}))));
  const Problem longer = backward(gla(DType::bfloat16, {1, 4096, 1, 64, 64}));
  EXPECT_GT(flops(4096), 5 * chunks.flops(longer, tile));
  // A square of chunks that no workspace holds is refused before it is counted as a region.
  const Problem endless = backward(gla(DType::bfloat16, {1, 1 << 28, 1, 64, 64}));
  EXPECT_NE(variant.reject(endless, tile, h200()), std::nullopt);
}

TEST(BackwardParallel, TilesOfOtherChunksLieBehindThePanels) {
  for (const int bytes : {2, 4})
    for (const int chunk : {32, 64})
      for (const int block_k : {32, 64})
        for (const int panel : {32, 64}) {
          const ChunkGradientLayout at{100, 129, bytes, chunk, block_k, panel, 0, 1};
          for (const int offset :
               {at.own_keys, at.other_keys, at.other_columns, at.other_scores, at.outside})
            EXPECT_EQ(offset % 16, 0);
          EXPECT_GE(at.own_keys, at.changes + block_k * at.panel_ld * bytes);
          EXPECT_EQ(at.other_columns - at.other_keys, at.key_tile);
          EXPECT_GE(at.outside - at.other_scores, chunk * at.score_ld * bytes);
          EXPECT_GE(at.outside, at.end_of_scores);
          EXPECT_GE(at.shared_bytes, at.outside + 3 * 4 * block_k);
          EXPECT_GE(at.own_keys - at.state, 4 * block_k * at.panel_ld);
          const ChunkGradientLayout alone{100, 129, bytes, chunk, block_k, panel, 0, 0};
          EXPECT_EQ(alone.end_of_panels, alone.own_keys);
        }
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
