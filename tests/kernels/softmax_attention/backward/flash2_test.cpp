#include <gtest/gtest.h>

#include "kernels/softmax_attention/backward/layout.h"
#include "kernels/softmax_attention/variants.hpp"
#include "tests/kernels/softmax_attention/backward/problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

std::vector<Variant> all_flash2_backward() {
  return {backward_flash2("attention"), backward_flash2_deterministic("attention"),
          backward_flash2("decay_attention"), backward_flash2_deterministic("decay_attention")};
}

std::vector<std::string> entries(const Recipe& recipe) {
  std::vector<std::string> list;
  for (const Step& step : recipe.steps)
    if (const auto* launch = std::get_if<KernelLaunch>(&step)) list.push_back(launch->entry);
  return list;
}

TEST(BackwardFlash2, RejectsByNameAndNeverThrows) {
  for (const Variant& variant : all_flash2_backward()) expect_backward_reject(variant);
}

TEST(BackwardFlash2, AcceptedTilesFitTheLimits) {
  for (const Variant& variant : all_flash2_backward()) expect_backward_launches(variant);
}

TEST(BackwardFlash2, DoesAtLeastTheOperatorsWork) {
  for (const Variant& variant : all_flash2_backward()) expect_backward_work(variant);
}

TEST(BackwardFlash2, DefaultTileServesCommonShapes) {
  for (const Variant& variant : all_flash2_backward())
    for (const std::int64_t dim : {32, 64, 100, 128})
      EXPECT_EQ(variant.reject(
                    backward_problem(variant.op, DType::bfloat16, {2, 1000, 4, dim, dim, 0, 2}),
                    backward_default(variant), backward_h200()),
                std::nullopt)
          << dim;
}

TEST(BackwardFlash2, EveryDimensionAndDtypeHasATile) {
  for (const Variant& variant : all_flash2_backward())
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const std::int64_t k : {1, 16, 17, 64, 100, 128, 200, 256})
        for (const std::int64_t v : {1, 33, 128, 256}) {
          const Problem problem = backward_problem(variant.op, dtype, {1, 100, 2, k, v});
          const std::vector<Tile> tiles = all_tiles(variant.space);
          EXPECT_TRUE(std::any_of(tiles.begin(), tiles.end(), [&](const Tile& tile) {
            return !variant.reject(problem, tile, backward_h200());
          })) << describe(problem);
        }
}

TEST(BackwardFlash2, OnlyTheOtherOrderAddsUpInDeviceMemory) {
  const Tile tile = backward_default(backward_flash2("attention"));
  Problem problem = backward_problem("decay_attention", DType::bfloat16, {2, 1000, 4, 64, 64});
  const Recipe varies = std::get<0>(backward_flash2("decay_attention").code)(problem, tile);
  EXPECT_EQ(entries(varies),
            (std::vector<std::string>{"attention_backward_prepare", "attention_backward_sum_decays",
                                      "attention_backward_keys", "attention_backward_round",
                                      "attention_backward_decay"}));
  const Recipe fixed =
      std::get<0>(backward_flash2_deterministic("decay_attention").code)(problem, tile);
  EXPECT_EQ(entries(fixed),
            (std::vector<std::string>{"attention_backward_prepare", "attention_backward_sum_decays",
                                      "attention_backward_keys", "attention_backward_queries",
                                      "attention_backward_decay"}));
  for (const Step& step : fixed.steps) EXPECT_FALSE(std::holds_alternative<Zero>(step));
  problem.op = "attention";
  EXPECT_EQ(entries(std::get<0>(backward_flash2("attention").code)(problem, tile)),
            (std::vector<std::string>{"attention_backward_prepare", "attention_backward_keys",
                                      "attention_backward_round"}));
}

TEST(BackwardFlash2, BlocksCoverEveryKeyOfEveryKeyHead) {
  for (const Variant& variant : all_flash2_backward())
    for_each_accepted(variant, [&](const Problem& problem, const Tile& tile) {
      const Shape& s = problem.shape;
      for (const Step& step : std::get<0>(variant.code)(problem, tile).steps) {
        const auto* launch = std::get_if<KernelLaunch>(&step);
        if (launch == nullptr || launch->entry != "attention_backward_keys") continue;
        const std::int64_t least =
            s.batch * s.keys_heads() * ceil_div(s.keys_seq(), tile.at("block_n"));
        EXPECT_EQ(launch->grid.x % least, 0u);
        EXPECT_GE(launch->grid.x, least);
      }
    });
}

TEST(BackwardFlash2, SharedMemoryIsCutWithoutOverlapAndAligned) {
  for (const int key : {1, 40, 64, 128, 256})
    for (const int value : {3, 64, 256})
      for (const int bytes : {2, 4})
        for (const int decay : {0, 1, 2})
          for (const bool by_keys : {true, false}) {
            const BackwardLayout at{
                {key, value, bytes, 64, 64, 4, 2, decay, 192, by_keys, by_keys}};
            EXPECT_LE(at.accumulators, 192);
            EXPECT_GE(at.key_columns * at.slices, key);
            EXPECT_GE(at.value_columns * at.slices, value);
            for (const int offset :
                 {at.column_keys, at.column_values, at.column_sums, at.stage, at.row_keys,
                  at.row_values, at.row_sums, at.terms, at.gradient})
              EXPECT_EQ(offset % 16, 0);
            EXPECT_GE(at.row_keys, 2 * (at.column_values + 64 * 8));
            EXPECT_GE(at.row_sums - at.row_values, 64 * at.value_ld * bytes);
            EXPECT_EQ(at.dq_warp_rows * at.dq_warp_columns, 4);
            EXPECT_EQ(at.dq_warp_rows * at.dq_tiles * 16, 64);
            EXPECT_GE(at.dq_warp_columns * at.dq_groups * 16, at.key_columns);
          }
}

TEST(BackwardFlash2, WideHeadsAreCutIntoSlices) {
  const BackwardLayout narrow{{128, 128, 2, 128, 64, 8, 2, 0, 192, true, true}};
  EXPECT_EQ(narrow.slices, 1);
  const BackwardLayout wide{{256, 256, 2, 128, 64, 8, 1, 0, 192, true, true}};
  EXPECT_EQ(wide.slices, 2);
  EXPECT_EQ(wide.key_columns, 128);
}

TEST(BackwardFlash2, CausalWorkIsHalfOfFullWork) {
  for (const Variant& variant :
       {backward_flash2("attention"), backward_flash2_deterministic("attention")}) {
    const Tile tile = backward_default(variant);
    Problem problem = backward_problem("attention", DType::bfloat16, {1, 16384, 1, 64, 64});
    const double half = variant.flops(problem, tile);
    problem.options["causal"] = "false";
    EXPECT_NEAR(variant.flops(problem, tile) / half, 2.0, 0.03);
  }
}

TEST(BackwardFlash2, DeclaresTheArithmeticOfItsProducts) {
  const Variant variant = backward_flash2("attention");
  Tile tile = backward_default(variant);
  EXPECT_EQ(variant.arithmetic(backward_problem("attention", DType::float16, {}), tile),
            Arithmetic::float16);
  EXPECT_EQ(variant.arithmetic(backward_problem("attention", DType::float32, {}), tile),
            Arithmetic::tf32);
  tile["terms"] = 3;
  EXPECT_EQ(variant.arithmetic(backward_problem("attention", DType::float32, {}), tile),
            Arithmetic::float32);
  const auto reason = variant.reject(
      backward_problem("attention", DType::bfloat16, {1, 64, 1, 64, 64}), tile, backward_h200());
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("terms=3"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench::softmax_attention
