#include <gtest/gtest.h>

#include "kernels/softmax_attention/variants.hpp"
#include "tests/kernels/softmax_attention/forward_problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

std::vector<Variant> all_rows() {
  return {three_pass("softmax"), online("softmax"), online_blocked("softmax")};
}

TEST(SoftmaxRows, RejectByNameAndNeverThrow) {
  for (const Variant& variant : all_rows()) {
    expect_forward_reject(variant, softmax_problem(DType::bfloat16, 100, 4096));
    expect_reason(variant, softmax_problem(DType::bfloat16, 1, 131073), forward_default(variant),
                  forward_h200(), "columns=131073");
    expect_reason(variant, softmax_problem(DType::bfloat16, std::int64_t{1} << 40, 4096),
                  forward_default(variant), forward_h200(), "blocks");
  }
}

TEST(SoftmaxRows, AcceptedTilesFitTheLimits) {
  for (const Variant& variant : all_rows()) expect_forward_launches(variant);
}

TEST(SoftmaxRows, DoAtLeastTheOperatorsWork) {
  for (const Variant& variant : all_rows()) expect_forward_work(variant);
}

TEST(SoftmaxRows, ReadTheRowsAsOftenAsTheirNamesSay) {
  const Problem problem = softmax_problem(DType::float32, 256, 131072);
  const double row = 256.0 * 131072 * 4;
  const auto reads = [&](const Variant& variant) {
    return variant.traffic(problem, forward_default(variant)).read_bytes;
  };
  EXPECT_EQ(reads(three_pass("softmax")), 3 * row);
  EXPECT_EQ(reads(online("softmax")), 2 * row);
  // 32 blocks of 4096 columns: 8192 pairs of floats, of which each block reads its row's 32.
  EXPECT_EQ(reads(online_blocked("softmax")), 2 * row + 8192.0 * 32 * 8);
  const Problem narrow = softmax_problem(DType::float32, 10, 4096);
  const Variant blocked = online_blocked("softmax");
  EXPECT_EQ(blocked.traffic(narrow, forward_default(blocked)).read_bytes, 10.0 * 4096 * 4);
  EXPECT_TRUE(blocked.workspace(narrow, forward_default(blocked)).empty());
}

TEST(SoftmaxRows, TheCacheHasNarrowRowsForLaterPasses) {
  const auto reads = [](const Variant& variant, DType dtype, std::int64_t rows,
                        std::int64_t columns) {
    const Traffic traffic =
        variant.traffic(softmax_problem(dtype, rows, columns), {{"threads", 256}});
    return traffic.read_bytes / 1e6;
  };
  // Megabytes that an H200 counted (results/h200/softmax.json).
  EXPECT_NEAR(reads(three_pass("softmax"), DType::float32, 65536, 512), 134.2, 0.1);
  EXPECT_NEAR(reads(three_pass("softmax"), DType::float32, 4096, 4096), 67.2, 0.1);
  EXPECT_NEAR(reads(three_pass("softmax"), DType::float32, 8, 131072), 4.2, 0.1);
  EXPECT_NEAR(reads(three_pass("softmax"), DType::float32, 256, 131072), 402.7, 0.1);
  EXPECT_NEAR(reads(three_pass("softmax"), DType::bfloat16, 256, 131072), 199.5, 2);
  EXPECT_NEAR(reads(online("softmax"), DType::float32, 4096, 4096), 67.4, 0.4);
  EXPECT_NEAR(reads(online("softmax"), DType::float32, 256, 131072), 268.4, 0.1);
}

TEST(SoftmaxRows, LaunchesCoverEveryRowAndColumn) {
  for (const Variant& variant : {three_pass("softmax"), online("softmax")})
    for_each_forward(variant, [&](const Problem& problem, const Tile& tile) {
      const Recipe recipe = std::get<0>(variant.code)(problem, tile);
      ASSERT_EQ(recipe.steps.size(), 1u);
      const auto& launch = std::get<KernelLaunch>(recipe.steps[0]);
      const std::int64_t rows = launch.block.x / tile.at("threads");
      EXPECT_GE(launch.grid.x * rows, problem.shape.batch);
      EXPECT_LT((launch.grid.x - 1) * rows, problem.shape.batch);
    });
  const Variant blocked = online_blocked("softmax");
  for_each_forward(blocked, [&](const Problem& problem, const Tile& tile) {
    const Recipe recipe = std::get<0>(blocked.code)(problem, tile);
    const std::int64_t blocks = ceil_div(problem.shape.columns, tile.at("block"));
    ASSERT_EQ(recipe.steps.size(), blocks == 1 ? 1u : 2u);
    for (const Step& step : recipe.steps)
      EXPECT_EQ(std::get<KernelLaunch>(step).grid.x, problem.shape.batch * blocks);
  });
}

TEST(SoftmaxRows, AccessesAreAlignedInEveryRow) {
  for (const Variant& variant : all_rows())
    for_each_forward(variant, [&](const Problem& problem, const Tile& tile) {
      for (const Constant& constant : std::get<0>(variant.code)(problem, tile).constants)
        if (constant.name == "width") {
          EXPECT_EQ(problem.shape.columns % constant.value, 0) << describe(problem);
          EXPECT_LE(constant.value * static_cast<int>(size_of(problem.dtype)), 16);
        }
    });
}

}  // namespace
}  // namespace gla_bench::softmax_attention
