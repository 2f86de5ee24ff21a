// The sizes of the terms that cancel in gradients of attention (Operator::cancelling_sizes).

#include <gtest/gtest.h>

#include <cmath>

#include "core/operator.hpp"

namespace gla_bench {
namespace {

Problem problem(const std::string& op, const Shape& shape, const std::string& gate) {
  Problem result;
  result.op = op;
  result.direction = Direction::backward;
  result.dtype = DType::bfloat16;
  result.shape = shape;
  result.gate = gate;
  return result;
}

double rms(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// The RMS of the sizes of an output's elements.
double stated(const Problem& problem, const std::string& output) {
  const Operator& op = *find_operator(problem.op);
  const std::vector<float> sizes = op.cancelling_sizes(problem, op.draw(problem)).at(output);
  return rms({sizes.begin(), sizes.end()});
}

std::map<std::string, std::vector<double>> gradients(const Problem& problem) {
  const Operator& op = *find_operator(problem.op);
  return op.reference(problem, op.draw(problem));
}

// dq = scale P (dP - D) k with dP = D, each of them sqrt(V) in size.
TEST(CancellingSizes, OfLoneKeysAreThoseOfTheTerms) {
  const Problem lone = problem(
      "attention",
      {.batch = 6, .seq = 1, .heads = 10, .key_dim = 40, .value_dim = 24, .key_seq = 1}, "normal");
  const double expected = std::sqrt(2.0 * 24 / 40);
  EXPECT_NEAR(stated(lone, "dq"), expected, 0.15 * expected);
  EXPECT_NEAR(stated(lone, "dk"), expected, 0.15 * expected);
  EXPECT_LT(rms(gradients(lone).at("dq")), 1e-12);
}

TEST(CancellingSizes, OfSequencesAreThoseOfEachByItself) {
  Problem ragged =
      problem("attention",
              {.batch = 1, .seq = 6, .heads = 10, .key_dim = 40, .value_dim = 24, .sequences = 6},
              "normal");
  ragged.options = {{"lengths", "uniform"}};
  const double expected = std::sqrt(2.0 * 24 / 40);
  EXPECT_NEAR(stated(ragged, "dq"), expected, 0.4 * expected);
}

// Where little cancels, a size is about that of the output: it may loosen nothing.
TEST(CancellingSizes, AreAboutTheOutputsWhereLittleCancels) {
  const Shape shape{.batch = 1, .seq = 80, .heads = 3, .key_dim = 32, .value_dim = 32};
  for (const Problem& each :
       {problem("attention", shape, "normal"), problem("decay_attention", shape, "none"),
        problem("decay_attention", shape, "typical")}) {
    const auto outputs = gradients(each);
    for (const std::string output : {"dq", "dk"}) {
      const double size = rms(outputs.at(output));
      EXPECT_GT(stated(each, output), 0.5 * size) << describe(each) << " " << output;
      EXPECT_LT(stated(each, output), 3 * size) << describe(each) << " " << output;
    }
    if (each.op == "attention") continue;
    const double size = rms(outputs.at("dlog_decay"));
    EXPECT_GT(stated(each, "dlog_decay"), 0.3 * size) << describe(each);
    EXPECT_LT(stated(each, "dlog_decay"), 5 * size) << describe(each);
  }
}

// Where all of a lone query's weight is on its key, the sizes of a channel are in proportion to it.
TEST(CancellingSizes, OfAChannelAreThoseOfItsFactor) {
  const Problem lone = problem(
      "attention", {.batch = 1, .seq = 1, .heads = 1, .key_dim = 8, .value_dim = 24, .key_seq = 1},
      "normal");
  const Operator& op = *find_operator("attention");
  const HostTensors inputs = op.draw(lone), sizes = op.cancelling_sizes(lone, inputs);
  for (std::size_t c = 1; c < 8; ++c) {
    EXPECT_NEAR(sizes.at("dq")[c] * std::abs(inputs.at("k")[0]),
                sizes.at("dq")[0] * std::abs(inputs.at("k")[c]), 1e-5);
    EXPECT_NEAR(sizes.at("dk")[c] * std::abs(inputs.at("q")[0]),
                sizes.at("dk")[0] * std::abs(inputs.at("q")[c]), 1e-5);
  }
}

// A gradient of a log decay has the terms of all pairs of a key before its token and a query from
// there on.
TEST(CancellingSizes, OfDecaysAreThoseOfPairsAroundThem) {
  const Problem two = problem(
      "decay_attention", {.batch = 1, .seq = 2, .heads = 1, .key_dim = 8, .value_dim = 8}, "none");
  const Operator& op = *find_operator("decay_attention");
  const std::vector<float> sizes = op.cancelling_sizes(two, op.draw(two)).at("dlog_decay");
  EXPECT_EQ(sizes[0], 0);
  EXPECT_GT(sizes[1], 0);
}

TEST(CancellingSizes, AreStatedOfGradientsOfSmallProblemsAlone) {
  const Operator& op = *find_operator("attention");
  Problem one = problem("attention",
                        {.batch = 1, .seq = 5, .heads = 1, .key_dim = 8, .value_dim = 8}, "normal");
  EXPECT_EQ(op.cancelling_sizes(one, op.draw(one)).size(), 2u);
  one.direction = Direction::forward;
  EXPECT_TRUE(op.cancelling_sizes(one, op.draw(one)).empty());
  Problem large =
      problem("attention", {.batch = 8, .seq = 4096, .heads = 16, .key_dim = 128, .value_dim = 128},
              "normal");
  EXPECT_TRUE(op.cancelling_sizes(large, {}).empty());
  // Many queries of few keys are few pairs, and each of them cancels.
  const Problem few_keys = problem(
      "attention",
      {.batch = 2, .seq = 3000, .heads = 1, .key_dim = 8, .value_dim = 8, .key_seq = 1}, "normal");
  EXPECT_EQ(op.cancelling_sizes(few_keys, op.draw(few_keys)).size(), 2u);
}

}  // namespace
}  // namespace gla_bench
