#include "kernels/softmax_attention/sm90/divide.hpp"

#include <gtest/gtest.h>

#include "kernels/softmax_attention/sm90/flash_sm90.hpp"
#include "tests/kernels/softmax_attention/forward_problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

constexpr DivisionCosts nothing{.beside = 0, .of_all = 0, .of_part = 0, .most = 16};

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
  costs.of_all = 44;
  EXPECT_EQ(best_parts({66, 100, 100}, costs), 2) << "94 steps for 100";
  costs.of_all = 46;
  EXPECT_EQ(best_parts({66, 100, 100}, costs), 1) << "96, too little for the memory of parts";
  costs.of_all = 0, costs.of_part = 10;  // 50 + 20, 33.3 + 30, 25 + 40 steps
  EXPECT_EQ(best_parts({1, 100, 100}, costs), 3);
  costs.of_part = 0, costs.beside = 890;  // undivided 990
  EXPECT_EQ(best_parts({66, 100, 100}, costs), 2) << "50 + 890";
  costs.beside = 910;  // undivided 1,010
  EXPECT_EQ(best_parts({66, 100, 100}, costs), 1) << "50 + 910";
}

const Variant& forward_flash(std::string_view op) {
  static const Variant attention = flash_sm90("attention"),
                       decaying = flash_sm90("decay_attention");
  return op == "attention" ? attention : decaying;
}
Problem attention_of(const Shape& shape) {
  return forward_problem("attention", DType::bfloat16, shape);
}
Problem decaying_attention_of(const Shape& shape) {
  return forward_problem("decay_attention", DType::bfloat16, shape);
}
Tile tile_of_128() {
  Tile tile = forward_default(forward_flash("attention"));
  tile["block_m"] = tile["block_n"] = 128, tile["stages"] = 2;
  return tile;
}
Recipe forward_recipe(const Problem& problem, const Tile& tile) {
  return std::get<0>(forward_flash(problem.op).code)(problem, tile);
}
std::vector<KernelLaunch> forward_launches(const Problem& problem, const Tile& tile) {
  std::vector<KernelLaunch> list;
  for (const Step& step : forward_recipe(problem, tile).steps)
    list.push_back(std::get<KernelLaunch>(step));
  return list;
}
int parts_of(const Problem& problem, const Tile& its) {
  for (const Constant& constant : forward_recipe(problem, its).constants)
    if (constant.name == "parts") return static_cast<int>(constant.value);
  return 0;
}

TEST(FlashSm90, DividesTheKeysOfFewItems) {
  const Tile usual = tile_of_128();
  const Problem problem = attention_of({1, 9472, 1, 32, 32});
  ASSERT_EQ(parts_of(problem, usual), 3);
  const std::vector<KernelLaunch> list = forward_launches(problem, usual);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].grid.x, 132u) << "three parts of 74 blocks of queries";
  EXPECT_EQ(list[1].entry, "flash_sm90_merge");
  EXPECT_EQ(list[1].grid.x, 9472u * (32 / 4) / 256);
  EXPECT_TRUE(list[1].overlaps);
  const std::vector<Region> regions = forward_flash("attention").workspace(problem, usual);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].bytes, 3u * 9472 * 32 * 4);
  EXPECT_EQ(regions[1].bytes, 3u * 9472 * 4);
  const Traffic traffic = forward_flash("attention").traffic(problem, usual);
  const double io = 9472.0 * 32 * 2, of_parts = 3 * 9472.0 * 33 * 4;
  EXPECT_EQ(traffic.read_bytes, 3 * io + of_parts);
  EXPECT_EQ(traffic.write_bytes, io + of_parts);
}

TEST(FlashSm90, DividesNothingWhereItemsAreManyOrShortOrOfOtherLengths) {
  const Tile usual = tile_of_128();
  EXPECT_EQ(parts_of(attention_of({1, 9472, 2, 32, 32}), usual), 1) << "148 items";
  EXPECT_EQ(parts_of(attention_of({1, 256, 8, 128, 128}), usual), 1) << "few tiles";
  EXPECT_EQ(parts_of(decaying_attention_of({1, 9472, 1, 32, 32}), usual), 1);
  Problem ragged = attention_of({1, 9472, 1, 32, 32});
  ragged.shape.sequences = 3;
  EXPECT_EQ(parts_of(ragged, usual), 1);
}

}  // namespace
}  // namespace gla_bench::softmax_attention
