#include "kernels/softmax_attention/rows/backward/softmax_backward.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/kernels/softmax_attention/forward_problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

std::vector<Variant> gradient_variants() {
  return {backward_two_pass("softmax"), backward_blocked("softmax"), backward_cluster("softmax")};
}

Problem gradients(DType dtype, std::int64_t rows, std::int64_t columns) {
  Problem problem = softmax_problem(dtype, rows, columns);
  problem.direction = Direction::backward;
  return problem;
}

std::vector<Problem> gradient_problems() {
  std::vector<Problem> list = forward_problems("softmax");
  for (Problem& problem : list) problem.direction = Direction::backward;
  return list;
}

TEST(SoftmaxBackward, RejectsByNameAndNeverThrows) {
  for (const Variant& variant : gradient_variants()) {
    const Problem problem = gradients(DType::bfloat16, 100, 4096);
    const Tile usual = forward_default(variant);
    expect_reason(variant, problem, {}, forward_h200(), "is not one of");
    expect_reason(variant, softmax_problem(DType::bfloat16, 100, 4096), usual, forward_h200(),
                  "backward only");
    expect_reason(variant, problem, usual, {75, 65536, 0, 40}, "sm_80");
    expect_reason(variant, gradients(DType::bfloat16, std::int64_t{1} << 40, 4096), usual,
                  forward_h200(), "blocks");
    if (variant.name != "cluster")
      expect_reason(variant, gradients(DType::bfloat16, 1, 131073), usual, forward_h200(),
                    "columns=131073");
  }
  const Variant blocked = backward_blocked("softmax");
  expect_reason(blocked, gradients(DType::float32, 10, 131072),
                {{"block", 16384}, {"threads", 256}}, forward_h200(), "registers hold 32");
}

TEST(SoftmaxBackward, AcceptedTilesFitTheLimitsAndDoTheWork) {
  for (const Variant& variant : gradient_variants()) {
    expect_forward_launches(variant, gradient_problems());
    expect_forward_work(variant, gradient_problems());
  }
}

TEST(SoftmaxBackward, ReadsTheRowsAsOftenAsItSays) {
  const Problem wide = gradients(DType::float32, 256, 131072);
  const double row = 256.0 * 131072 * 4;
  const auto reads = [&](const Variant& variant, const Problem& problem) {
    return variant.traffic(problem, forward_default(variant)).read_bytes;
  };
  EXPECT_EQ(reads(backward_two_pass("softmax"), wide), 4 * row);
  // 32 blocks of 4096 columns: 8192 sums, of which each block reads its row's 32.
  EXPECT_EQ(reads(backward_blocked("softmax"), wide), 4 * row + 8192.0 * 32 * 4);
  EXPECT_EQ(reads(backward_cluster("softmax"), wide), 2 * row);
  EXPECT_EQ(reads(backward_blocked("softmax"), gradients(DType::float32, 10, 4096)),
            2 * 10.0 * 4096 * 4);
}

TEST(SoftmaxBackward, TheCacheHasNarrowRowsForTheSecondPass) {
  const Variant two_pass = backward_two_pass("softmax");
  const auto reads = [&](DType dtype, std::int64_t rows, std::int64_t columns, int threads) {
    return two_pass.traffic(gradients(dtype, rows, columns), {{"threads", threads}}).read_bytes /
           1e6;
  };
  // Megabytes that an H200 counted (results/h200/softmax.json).
  EXPECT_NEAR(reads(DType::float32, 65536, 512, 256), 268.5, 0.1);
  EXPECT_NEAR(reads(DType::float32, 65536, 512, 1024), 268.5, 0.1);
  EXPECT_NEAR(reads(DType::bfloat16, 65536, 512, 256), 134.3, 0.1);
  EXPECT_NEAR(reads(DType::float32, 4096, 4096, 1024), 134.2, 0.1);
  // Here 1056 rows of y and dy are at work at a time, 34.6 MB.
  EXPECT_NEAR(reads(DType::float32, 4096, 4096, 256), 136.0, 2);
  // And here all 256 of them, 268 and 134 MB.
  EXPECT_NEAR(reads(DType::float32, 256, 131072, 256), 536.9, 0.1);
  EXPECT_NEAR(reads(DType::float32, 256, 131072, 1024), 536.9, 0.1);
  EXPECT_NEAR(reads(DType::bfloat16, 256, 131072, 256), 268.5, 0.1);
}

TEST(SoftmaxBackward, LaunchesCoverEveryRowAndColumn) {
  for (const Problem& problem : gradient_problems()) {
    const Variant blocked = backward_blocked("softmax");
    for (const Tile& tile : all_tiles(blocked.space)) {
      if (blocked.reject(problem, tile, forward_h200())) continue;
      const Recipe recipe = std::get<0>(blocked.code)(problem, tile);
      const std::int64_t blocks = ceil_div(problem.shape.columns, tile.at("block"));
      ASSERT_EQ(recipe.steps.size(), blocks == 1 ? 1u : 2u);
      EXPECT_EQ(blocked.workspace(problem, tile).size(), blocks == 1 ? 0u : 1u);
      for (const Step& step : recipe.steps)
        EXPECT_EQ(std::get<KernelLaunch>(step).grid.x, problem.shape.batch * blocks);
    }
  }
}

TEST(SoftmaxBackward, ParametersAreOfItsOwnTensors) {
  Problem problem = gradients(DType::float32, 10, 131072);
  problem.scale = -0.5;
  const Variant blocked = backward_blocked("softmax");
  char places[4];
  const Address address = [&](std::string_view name) -> void* {
    return name == "y"      ? places
           : name == "dy"   ? places + 1
           : name == "dx"   ? places + 2
           : name == "sums" ? places + 3
                            : nullptr;
  };
  SoftmaxBackwardParams p;
  const ParamBytes bytes = blocked.bind(problem, forward_default(blocked), address);
  ASSERT_EQ(bytes.size(), sizeof p);
  std::memcpy(&p, bytes.data(), sizeof p);
  EXPECT_EQ(p.y, places);
  EXPECT_EQ(p.dy, places + 1);
  EXPECT_EQ(p.dx, places + 2);
  EXPECT_EQ(static_cast<void*>(p.sums), places + 3);
  EXPECT_EQ(p.rows, 10);
  EXPECT_EQ(p.columns, 131072);
  EXPECT_EQ(p.scale, -0.5f);
}

// y and dy of a row of 131,072 floats fill half a block's shared memory and more: they go in
// pieces.
TEST(SoftmaxBackward, WideRowsGoInPieces) {
  const Variant cluster = backward_cluster("softmax");
  const Problem wide = gradients(DType::float32, 256, 131072);
  const auto tile = [](int stages, int piece) {
    return Tile{
        {"cluster", 8}, {"threads", 512}, {"rows", 1}, {"stages", stages}, {"piece", piece}};
  };
  EXPECT_EQ(cluster.reject(wide, tile(1, 0), forward_h200()), std::nullopt);
  EXPECT_NE(cluster.reject(wide, tile(2, 0), forward_h200()), std::nullopt);
  EXPECT_EQ(cluster.reject(wide, tile(13, 8), forward_h200()), std::nullopt);
}

}  // namespace
}  // namespace gla_bench::softmax_attention
