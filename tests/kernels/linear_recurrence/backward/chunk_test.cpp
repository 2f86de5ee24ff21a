#include <gtest/gtest.h>

#include "kernels/linear_recurrence/backward/chunk/layout.h"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "tests/kernels/linear_recurrence/backward/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using Make = Variant (*)(const Member&);
constexpr Make both[] = {backward_chunk_materialized, backward_chunk_fused};

Variant variant_of(Make make, std::string_view op) {
  return make(member_of(problem_of(op, DType::float32, {})));
}

std::vector<KernelLaunch> launches(const Variant& variant, const Problem& problem) {
  std::vector<KernelLaunch> list;
  for (const Step& step : std::get<0>(variant.code)(problem, default_tile(variant.space)).steps)
    list.push_back(std::get<KernelLaunch>(step));
  return list;
}

std::vector<std::string> entries(Make make, const Problem& problem) {
  std::vector<std::string> list;
  for (const KernelLaunch& launch : launches(variant_of(make, problem.op), problem))
    list.push_back(launch.entry);
  return list;
}

TEST(BackwardChunks, TakeEveryMemberAndOption) {
  for (const Make make : both) expect_backward_of_every_member(make);
}

TEST(BackwardChunks, TakeAllSizes) {
  for (const Make make : both) expect_backward_tile_for_all_sizes(variant_of(make, "gla"));
}

TEST(BackwardChunks, RefuseByNameAndNeverThrow) {
  for (const Make make : both) expect_backward_reject(variant_of(make, "gla"));
}

TEST(BackwardChunks, ThreeTermsAreForFloat32) {
  for (const Make make : both) {
    const Variant variant = variant_of(make, "gla");
    Tile tile = default_tile(variant.space);
    tile["terms"] = 3;
    Problem problem = backward(gla(DType::float32, {1, 64, 1, 64, 64}));
    EXPECT_EQ(variant.reject(problem, tile, h200()), std::nullopt);
    EXPECT_EQ(variant.arithmetic(problem, tile), Arithmetic::float32);
    problem.dtype = DType::bfloat16;
    EXPECT_NE(variant.reject(problem, tile, h200()), std::nullopt);
    tile["terms"] = 1;
    EXPECT_EQ(variant.arithmetic(problem, tile), Arithmetic::bfloat16);
  }
}

TEST(BackwardChunks, LaunchesInTheirOrder) {
  using Entries = std::vector<std::string>;
  const Problem gla_problem = backward(gla(DType::bfloat16, {2, 100, 3, 32, 20}));
  EXPECT_EQ(entries(backward_chunk_materialized, gla_problem),
            (Entries{"chunk_gradient_states", "chunk_scan_states", "chunk_gradient_changes",
                     "chunk_scan_changes", "chunk_gradients"}));
  EXPECT_EQ(entries(backward_chunk_fused, gla_problem),
            (Entries{"chunk_keep_states", "chunk_gradients_fused"}));
  Problem normalized = backward(problem_of("linear_attention", DType::float32, {2, 100, 3, 64, 9}));
  normalized.options["normalize"] = "true";
  EXPECT_EQ(entries(backward_chunk_materialized, normalized),
            (Entries{"chunk_gradient_states", "chunk_scan_states", "chunk_gradient_outputs",
                     "gradient_outputs", "chunk_gradient_changes", "chunk_scan_changes",
                     "chunk_gradients", "gradient_values"}));
  EXPECT_EQ(entries(backward_chunk_fused, normalized),
            (Entries{"chunk_keep_states", "chunk_gradient_outputs", "gradient_outputs",
                     "chunk_gradients_fused", "gradient_values"}));
}

TEST(BackwardChunks, BlocksAreThoseOfChunksOrOfSequences) {
  const Problem problem = backward(gla(DType::bfloat16, {2, 130, 3, 100, 72}));
  const auto blocks = [&](Make make, std::size_t step) {
    return launches(variant_of(make, "gla"), problem).at(step).grid.x;
  };
  EXPECT_EQ(blocks(backward_chunk_materialized, 0), 2u * 3 * 3 * 4);  // three chunks, four slices
  EXPECT_EQ(blocks(backward_chunk_materialized, 1), 2u * 3 * ceil_div(100 * 72, 256));
  EXPECT_EQ(blocks(backward_chunk_fused, 1), 2u * 3 * 4);
}

TEST(BackwardChunks, StatesHaveASlotForEveryChunk) {
  Problem problem = backward(gla(DType::bfloat16, {2, 130, 3, 100, 72}));
  const double state = 100 * 72 * 4;
  for (const Make make : both) {
    const Variant variant = variant_of(make, "gla");
    const Tile tile = default_tile(variant.space);
    problem.shape = {2, 130, 3, 100, 72};
    EXPECT_EQ(region_bytes(variant.workspace(problem, tile), "chunk_states"), 2 * 3 * 3 * state);
    problem.shape = {1, 130, 3, 100, 72};
    problem.shape.sequences = 5;
    EXPECT_EQ(region_bytes(variant.workspace(problem, tile), "chunk_states"), 3 * (2 + 5) * state);
  }
  // Sums of a head come from its chunks in the one form and from its sequences in the other.
  const Problem retention = backward(problem_of("retention", DType::float32, {2, 130, 3, 64, 72}));
  const auto sums = [&](Make make) {
    const Variant variant = variant_of(make, "retention");
    return region_bytes(variant.workspace(retention, default_tile(variant.space)), "sums");
  };
  EXPECT_EQ(sums(backward_chunk_materialized), 2 * 3 * 3 * (64 + 2) * 8);
  EXPECT_EQ(sums(backward_chunk_fused), 2 * 3 * (64 + 2) * 8);
}

TEST(BackwardChunks, SharedMemoryIsCutWithoutOverlapAndAligned) {
  for (const int bytes : {2, 4})
    for (const int chunk : {32, 64})
      for (const int block_k : {32, 64})
        for (const int panel : {32, 64})
          for (const int kept : {0, 1}) {
            const ChunkGradientLayout at{100, 129, bytes, chunk, block_k, panel, kept};
            EXPECT_EQ(at.threads, chunk / 16 * block_k);
            EXPECT_EQ(at.panels, (129 + panel - 1) / panel);
            for (const int offset :
                 {at.scores,  at.suffixed,  at.prefixed,  at.totals,     at.through,
                  at.sums,    at.change,    at.work,      at.q_tile,     at.partial_scores,
                  at.d_o,     at.state,     at.changes,   at.transposed, at.read,
                  at.written, at.decayed_q, at.decayed_k, at.passing,    at.gates})
              EXPECT_EQ(offset % 16, 0);
            for (const int ld : {at.key_ld, at.panel_ld, at.score_ld}) EXPECT_EQ(ld % 16, 8);
            EXPECT_GE(at.suffixed - at.scores, chunk * (bytes == 2 ? 2 : 1) * chunk * bytes);
            EXPECT_GE(at.work - at.change, kept * 4 * block_k * at.panels * panel);
            EXPECT_GE(at.shared_bytes, at.changes + block_k * panel * bytes);
            EXPECT_GE(at.shared_bytes, at.gates + 4 * at.groups * chunk);
            EXPECT_GE(at.shared_bytes, at.partial_scores + 4 * at.groups * chunk * chunk);
          }
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
