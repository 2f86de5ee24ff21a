#include <gtest/gtest.h>

#include "kernels/linear_recurrence/backward/recurrent/layout.h"
#include "kernels/linear_recurrence/backward/variants.hpp"
#include "tests/kernels/linear_recurrence/backward/problems.hpp"

namespace gla_bench::linear_recurrence {
namespace {

std::vector<std::string> entries(const Variant& variant, const Problem& problem) {
  std::vector<std::string> list;
  for (const Step& step : std::get<0>(variant.code)(problem, default_tile(variant.space)).steps)
    list.push_back(std::get<KernelLaunch>(step).entry);
  return list;
}

Variant variant_of(std::string_view op) {
  return backward_recurrent(member_of(problem_of(op, DType::float32, {})));
}

TEST(BackwardRecurrent, TakesEveryMemberAndOption) {
  expect_backward_of_every_member(backward_recurrent);
}

TEST(BackwardRecurrent, TakesAllSizes) {
  expect_backward_tile_for_all_sizes(variant_of("gla"));
}

TEST(BackwardRecurrent, RefusesByNameAndNeverThrows) {
  expect_backward_reject(variant_of("gla"));
}

TEST(BackwardRecurrent, RowsOfTheStateAreDealtToBlocks) {
  for (const int key : {1, 3, 16, 100, 512})
    for (const int rows : {1, 2, 4})
      for (const int warps : {4, 8, 16}) {
        const RecurrentGradientLayout at{key, 129, 8, rows, warps};
        EXPECT_GE(at.slices * at.block_k, key);
        EXPECT_LT((at.slices - 1) * at.block_k, key);
        EXPECT_EQ(at.padded_width, 160);
        EXPECT_EQ(at.shared_bytes, 4 * (8 * 160 * (2 + warps) + 3 * 8 * rows * warps));
      }
}

TEST(BackwardRecurrent, StatesAreKeptBeforeEverySegment) {
  const Variant variant = variant_of("gla");
  Tile tile = default_tile(variant.space);
  Problem problem = backward(gla(DType::float32, {2, 33, 3, 16, 20}));
  EXPECT_EQ(region_bytes(variant.workspace(problem, tile), "kept"), 2 * 3 * 3 * 16 * 20 * 4);
  tile["kept"] = 8;
  EXPECT_EQ(region_bytes(variant.workspace(problem, tile), "kept"), 2 * 3 * 5 * 16 * 20 * 4);
  problem.shape.batch = 1;
  problem.shape.sequences = 7;  // of which each may end in a segment that is not full
  EXPECT_EQ(region_bytes(variant.workspace(problem, tile), "kept"), 3 * (4 + 7) * 16 * 20 * 4);
}

TEST(BackwardRecurrent, SumsAreOfTheMembersThatHaveThem) {
  const auto of = [](std::string_view op, std::int64_t keys) {
    return entries(variant_of(op), backward(problem_of(op, DType::float32, {2, 50, 3, keys, 20})));
  };
  using Entries = std::vector<std::string>;
  const std::string first = "gradient_forwards", last = "gradient_backwards";
  EXPECT_EQ(of("gla", 16), (Entries{first, last}));
  EXPECT_EQ(of("gla", 17), (Entries{first, last, "gradient_values"}));
  EXPECT_EQ(of("simple_gla", 16), (Entries{first, last, "gradient_gates"}));
  EXPECT_EQ(of("retention", 16), (Entries{first, last, "gradient_sums"}));
  EXPECT_EQ(of("rwkv6", 64), (Entries{first, last, "gradient_values", "gradient_sums"}));
  Problem problem = backward(problem_of("linear_attention", DType::float32, {2, 50, 3, 16, 20}));
  problem.options["normalize"] = "true";
  EXPECT_EQ(entries(variant_of("linear_attention"), problem),
            (Entries{first, "gradient_outputs", last}));
}

TEST(BackwardRecurrent, DoublesOfASumAreThoseOfKeysAndSlices) {
  const Variant variant = variant_of("rwkv6");
  const Problem problem = backward(problem_of("rwkv6", DType::bfloat16, {2, 50, 3, 64, 20}));
  const std::vector<Region> regions = variant.workspace(problem, default_tile(variant.space));
  EXPECT_EQ(region_bytes(regions, "sums"), 2 * 3 * (64 + 4) * 8);
  EXPECT_EQ(region_bytes(regions, "value_parts"), 4 * 2 * 3 * 50 * 20 * 4);
}

}  // namespace
}  // namespace gla_bench::linear_recurrence
