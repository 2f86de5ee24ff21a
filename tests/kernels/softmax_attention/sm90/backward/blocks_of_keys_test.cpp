// Blocks of keys of flash_sm90's backward: several with the same keys, and one with all of them.

#include <gtest/gtest.h>

#include "kernels/softmax_attention/sm90/backward/layout.h"
#include "tests/kernels/softmax_attention/sm90/backward/recipes.hpp"

namespace gla_bench::softmax_attention {
namespace {

// A block needs about 6 steps' time beside its steps, and adding up a part takes a fifth of one.
TEST(BackwardFlashSm90, StepsAreDividedWhereBlocksAreFew) {
  EXPECT_EQ(parts_of_steps(132, 100, 100), 1);
  EXPECT_EQ(parts_of_steps(3 * 132, 44, 44), 1);
  EXPECT_EQ(parts_of_steps(61, 121, 121), 2);  // 122 blocks of 61 steps, one round
  EXPECT_EQ(parts_of_steps(66, 1000, 1000), 2);
  // A second round for 18 blocks costs as much as for 132, four parts need five rounds of a fourth.
  EXPECT_EQ(parts_of_steps(150, 100, 100), 4);
  EXPECT_EQ(parts_of_steps(16, 1024, 1024), 8);  // one round of 128 blocks
  EXPECT_EQ(parts_of_steps(1, 1024, 1024), 16);
  EXPECT_EQ(parts_of_steps(1, 3, 3), 3);
  EXPECT_EQ(parts_of_steps(1, 8, 8), 6);  // 7.3 + 1.2 steps' time; 8 parts need 7 + 1.6
  EXPECT_EQ(parts_of_steps(1, 1, 1), 1);
  // Of unequal blocks the longest start first: 1.9 rounds cost 1.9, not 2.
  EXPECT_EQ(parts_of_steps(256, 64, 32), 1);
  EXPECT_EQ(parts_of_steps(64, 64, 32), 3);
}

TEST(BackwardFlashSm90, PartsLeaveTheirSumsOfTheKeysGradients) {
  Problem problem = gradients_of({1, 7740, 1, 128, 128});
  problem.options["causal"] = "false";
  const std::vector<Region> regions = flash_backward().workspace(problem, steps_of(64, 2));
  EXPECT_EQ(regions.back().name, "result_sums");
  EXPECT_EQ(regions.back().bytes, 2u * 61 * 128 * 256 * 4);
  const Recipe recipe = backward_recipe(problem, steps_of(64, 2));
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[1]).grid.x, 2u * 61);
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[2]).grid.x, 121u + 2 * 61 * 8);
  EXPECT_EQ(
      std::count(recipe.constants.begin(), recipe.constants.end(), Constant{"launch", "parts", 2}),
      1);
  // The sums are written and read.
  Problem other = problem;
  other.shape.heads = other.shape.key_heads = 132;  // so many heads need no parts
  const Traffic parts = flash_backward().traffic(problem, steps_of(64, 2));
  const Traffic none = flash_backward().traffic(other, steps_of(64, 2));
  const double sums = 2.0 * 61 * 128 * 256 * 4;
  EXPECT_EQ(parts.read_bytes, none.read_bytes / 132 + sums);
  EXPECT_EQ(parts.write_bytes, none.write_bytes / 132 + sums);
  // With a decay a block keeps all its steps.
  EXPECT_EQ(std::get<KernelLaunch>(
                backward_recipe(gradients_with_decay(problem.shape), steps_of(64, 2)).steps[6])
                .grid.x,
            61u);
}

TEST(BackwardFlashSm90, ABlockWithAllKeysStoresDqItself) {
  const Problem problem = gradients_of({90, 72, 40, 128, 128});
  for (const Region& region : flash_backward().workspace(problem, steps_of(64, 2)))
    EXPECT_EQ(region.name, "query_records");
  const Recipe recipe = backward_recipe(problem, steps_of(64, 2));
  EXPECT_EQ(steps_by_name(recipe),
            (std::vector<std::string>{"flash_sm90_backward_queries", "flash_sm90_backward"}));
  EXPECT_EQ(std::get<KernelLaunch>(recipe.steps[1]).grid.x, 90u * 40);
  // Of q, k, v, o, do and the gradients nothing is moved but what is there.
  const double tensor = 90.0 * 72 * 40 * 128 * 2, lse = 90.0 * 72 * 40 * 4;
  const double records = 90.0 * 40 * 128 * 8;
  const Traffic bytes = flash_backward().traffic(problem, steps_of(64, 2));
  EXPECT_EQ(bytes.read_bytes, 6 * tensor + lse + records);
  EXPECT_EQ(bytes.write_bytes, 3 * tensor + records);
  // One key more, and two blocks add to dq.
  const Problem more = gradients_of({90, 129, 40, 128, 128});
  EXPECT_EQ(steps_by_name(backward_recipe(more, steps_of(64, 2))).back(),
            "flash_sm90_backward_round");
  // There is no place of dq in shared memory, and no order to keep.
  const BackwardSm90Layout whole{128, 128, 64, 3, 0, false, true};
  EXPECT_EQ(whole.records, whole.dq_at);
  const Variant ordered = backward_flash_sm90_deterministic("attention");
  EXPECT_EQ(std::get<KernelLaunch>(std::get<0>(ordered.code)(problem, steps_of(64, 3)).steps[1])
                .shared_bytes,
            static_cast<std::size_t>(whole.bytes));
}

}  // namespace
}  // namespace gla_bench::softmax_attention
