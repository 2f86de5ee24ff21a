#include "kernels/softmax_attention/sm90/divide.hpp"

#include <gtest/gtest.h>

namespace gla_bench::softmax_attention {
namespace {

constexpr DivisionCosts nothing{
    .beside = 0, .of_block = 0, .of_all = 0, .of_part = 0, .worthwhile = 1, .most = 16};

TEST(Division, FillsTheMultiprocessorsAndNoMore) {
  EXPECT_EQ(best_parts({132, 100, 100}, nothing), 1) << "each has a block";
  EXPECT_EQ(best_parts({66, 100, 100}, nothing), 2);
  EXPECT_EQ(best_parts({33, 100, 100}, nothing), 4);
  EXPECT_EQ(best_parts({1, 100, 100}, nothing), 16) << "the most";
  EXPECT_EQ(best_parts({1, 3, 3}, nothing), 3) << "a part has a step";
  EXPECT_EQ(best_parts({1, 1, 1}, nothing), 1);
}

TEST(Division, ShortensTheLongestWalk) {
  // Of 132 causal walks the longest takes as long as all; in parts they come out even.
  EXPECT_GT(best_parts({132, 132, 66.5}, nothing), 1);
}

TEST(Division, IsWorthItsCosts) {
  DivisionCosts costs = nothing;
  costs.of_all = 49;
  EXPECT_EQ(best_parts({66, 100, 100}, costs), 2) << "99 steps for 100";
  costs.of_all = 50;
  EXPECT_EQ(best_parts({66, 100, 100}, costs), 1);
  costs.of_all = 0, costs.of_part = 10;  // 50 + 20, 33.3 + 30, 25 + 40 steps
  EXPECT_EQ(best_parts({1, 100, 100}, costs), 3);
  costs.of_part = 0, costs.beside = 10, costs.of_block = 40;
  EXPECT_EQ(best_parts({66, 100, 100}, costs), 2) << "50 + 50 for 110";
  costs.worthwhile = 0.9;
  EXPECT_EQ(best_parts({66, 100, 100}, costs), 1) << "99 would be";
}

}  // namespace
}  // namespace gla_bench::softmax_attention
