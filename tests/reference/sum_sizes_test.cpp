// The sizes of sums that may be near zero by chance (Operator::sum_sizes) are the RMS of what the
// references give over many drawn inputs.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/operator.hpp"

namespace gla_bench {
namespace {

struct Sizes {
  double stated = 0, found = 0;
};

// The RMS of an output over `draws` seeds, and of what the operator states. Both are dominated by
// the few seeds that have the largest values, where gates are strong.
Sizes sizes(Problem problem, const std::string& output, int draws) {
  const Operator& op = *find_operator(problem.op);
  Sizes mean;
  double squares = 0;
  std::size_t elements = 0;
  for (int seed = 1; seed <= draws; ++seed) {
    problem.seed = static_cast<std::uint64_t>(seed);
    const HostTensors inputs = op.draw(problem);
    const double size = op.sum_sizes(problem, inputs).at(output);
    mean.stated += size * size / draws;
    const ReferenceTensors values = op.reference(problem, inputs);
    for (const double value : values.at(output)) {
      squares += value * value;
      ++elements;
    }
  }
  mean.stated = std::sqrt(mean.stated);
  mean.found = std::sqrt(squares / static_cast<double>(elements));
  return mean;
}

Problem problem(const std::string& op, Shape shape, const std::string& gate) {
  Problem result;
  result.op = op;
  result.dtype = DType::float32;
  result.shape = shape;
  result.gate = gate;
  return result;
}

TEST(SumSizes, ALogSumExpOfOneKeyIsAScore) {
  for (const char* gate : {"normal", "peaked"}) {
    Problem one = problem(
        "attention",
        {.batch = 40, .seq = 1, .heads = 2, .key_dim = 24, .value_dim = 1, .key_seq = 1}, gate);
    one.options = {{"lse", "true"}};
    one.scale = -0.7;
    const Sizes found = sizes(one, "lse", 40);
    EXPECT_NEAR(found.found, found.stated, 0.05 * found.stated) << gate;
  }
}

TEST(SumSizes, KeysThatAreNoneAddNothing) {
  Problem paged = problem(
      "attention", {.batch = 3, .seq = 1, .heads = 1, .key_dim = 8, .value_dim = 1, .key_seq = 40},
      "normal");
  paged.options = {{"lse", "true"}, {"page_size", "16"}};
  const Operator& op = *find_operator("attention");
  const double size = op.sum_sizes(paged, op.draw(paged)).at("lse");
  EXPECT_TRUE(size > 0.3 && size < 2) << size;
}

/// Backward problems of one shape: without states, with them, ragged, and with large states.
std::vector<Problem> with_and_without_states(const std::string& op, const std::string& gate) {
  Problem one =
      problem(op, {.batch = 2, .seq = 20, .heads = 3, .key_dim = 6, .value_dim = 5}, gate);
  one.direction = Direction::backward;
  Problem states = one;
  states.initial_state = states.final_state = true;
  Problem ragged = states;
  ragged.shape.batch = 1;
  ragged.shape.sequences = 4;
  Problem large = states;
  large.options = {{"state_size", "100"}};
  return {one, states, ragged, large};
}

TEST(SumSizes, TheGradientOfAConstantDecay) {
  for (const Problem& each : with_and_without_states("retention", "mild")) {
    const Sizes found = sizes(each, "dlog_decay", 400);
    EXPECT_NEAR(found.found, found.stated, 0.08 * found.stated) << describe(each);
  }
}

TEST(SumSizes, TheGradientsOfDecaysPerToken) {
  for (const char* gate : {"none", "typical", "strong", "resets"})
    for (const Problem& each : with_and_without_states("simple_gla", gate)) {
      const Sizes found = sizes(each, "dg", 300);
      EXPECT_NEAR(found.found, found.stated, 0.08 * found.stated) << describe(each);
    }
}

TEST(SumSizes, TheFirstTokenOfNoStateHasNoGradientOfItsDecay) {
  Problem one = problem("simple_gla",
                        {.batch = 1, .seq = 1, .heads = 2, .key_dim = 3, .value_dim = 2}, "mild");
  one.direction = Direction::backward;
  const Operator& op = *find_operator("simple_gla");
  EXPECT_EQ(op.sum_sizes(one, op.draw(one)).at("dg"), 0);
}

TEST(SumSizes, ADecayOfZeroLeavesNothing) {
  Problem one = problem("retention",
                        {.batch = 1, .seq = 9, .heads = 1, .key_dim = 2, .value_dim = 2}, "mild");
  one.direction = Direction::backward;
  const Operator& op = *find_operator("retention");
  HostTensors inputs = op.draw(one);
  inputs.at("log_decay") = {-std::numeric_limits<float>::infinity()};
  EXPECT_EQ(op.sum_sizes(one, inputs).at("dlog_decay"), 0);
}

TEST(SumSizes, OutputsWithSizesOfTheirOwnAreNotNamed) {
  Problem one =
      problem("gla", {.batch = 1, .seq = 9, .heads = 1, .key_dim = 2, .value_dim = 2}, "mild");
  one.direction = Direction::backward;
  const Operator& gla = *find_operator("gla");
  EXPECT_TRUE(gla.sum_sizes(one, gla.draw(one)).empty());
  one.op = "attention";
  one.gate = "normal";
  const Operator& attention = *find_operator("attention");
  EXPECT_TRUE(attention.sum_sizes(one, attention.draw(one)).empty());
  one.direction = Direction::forward;  // and lse is no output
  EXPECT_TRUE(attention.sum_sizes(one, attention.draw(one)).empty());
}

}  // namespace
}  // namespace gla_bench
