// What of an error is the rounding of terms that cancel.

#include "harness/verify/allowances.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/operator.hpp"
#include "harness/verify/host_comparison.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {
namespace {

constexpr float one_rounding = 0x1p-24f;
constexpr std::int64_t one_product = 1;
constexpr float largest_allowance = 32.25f * one_rounding;

const TensorSpec gradient{"dq", TensorSpec::Role::output, DType::float32, {1, 2, 1, 4}, true};

ErrorMetrics errors_of_gradient(const std::vector<float>& got, const std::vector<double>& expected,
                                const std::vector<float>& sizes) {
  HostComparison comparison(gradient, got, expected,
                            allowances(gradient, expected, sizes, one_product));
  return tensor_errors(gradient, comparison, expected);
}

TEST(Allowances, WhatIsLeftOfCancellingTermsMayBeTheirRounding) {
  const std::vector<double> nothing(8, 0.0);
  const std::vector<float> of_one(8, 1.0f);
  const ErrorMetrics m =
      errors_of_gradient(std::vector<float>(8, largest_allowance), nothing, of_one);
  EXPECT_EQ(m.rel_l2, 0);
  EXPECT_EQ(m.worst_chunk_rel_l2, 0);
  EXPECT_EQ(m.max_abs, 0);
  EXPECT_TRUE(std::isinf(
      errors_of_gradient(std::vector<float>(8, 1.01f * largest_allowance), nothing, of_one)
          .rel_l2));
  EXPECT_TRUE(std::isinf(
      errors_of_gradient(std::vector<float>(8, largest_allowance), nothing, std::vector<float>(8))
          .rel_l2));
}

TEST(Allowances, AreOfRowsWhoseTermsCancelAlone) {
  // The first row has values of the terms' size, nothing is left of the second.
  const std::vector<double> expected{1, -1, 1, -1, 0, 0, 0, 0};
  const std::vector<float> sizes(8, 4.0f);
  EXPECT_EQ(allowances(gradient, expected, sizes, one_product),
            (std::vector<float>{0, 0, 0, 0, 4 * largest_allowance, 4 * largest_allowance,
                                4 * largest_allowance, 4 * largest_allowance}));
  std::vector<float> got(expected.begin(), expected.end());
  got[0] += 1e-5f;
  got[4] += 4 * largest_allowance;
  const ErrorMetrics m = errors_of_gradient(got, expected, sizes);
  EXPECT_NEAR(m.rel_l2, 5e-6, 1e-7) << "of the first row all, of the second nothing";
  EXPECT_EQ(m.worst.index, (std::vector<std::int64_t>{0, 0, 0, 0}));
}

// A tensor core drops bits in each step of 16 products.
TEST(Allowances, GrowWithTheProductsOfATerm) {
  const std::vector<double> nothing(8, 0.0);
  const std::vector<float> of_one(8, 1.0f);
  const auto roundings = [&](std::int64_t products) {
    return allowances(gradient, nothing, of_one, products)[0] / one_rounding;
  };
  EXPECT_FLOAT_EQ(roundings(16), 36);
  EXPECT_FLOAT_EQ(roundings(64), 48);
  EXPECT_FLOAT_EQ(roundings(256), 96);
}

TEST(Allowances, LeaveWhatIsNotFinite) {
  const std::vector<double> nothing(8, 0.0);
  std::vector<float> got(8, 0.0f);
  got[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(errors_of_gradient(got, nothing, std::vector<float>(8, 1e30f)).rel_l2));
  got[5] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(errors_of_gradient(got, nothing, std::vector<float>(8, 1e30f)).rel_l2));
}

// The values that messages show, and the bits that a candidate kept of what is no rounding, are its
// own.
TEST(Allowances, DoNotChangeWhatTheCandidateLeft) {
  const std::vector<double> nothing(8, 0.0);
  const std::vector<float> allowed =
      allowances(gradient, nothing, std::vector<float>(8, 1), one_product);
  const std::vector<float> rounding(8, 0x1.8p-24f), error(8, 0x1.8p-3f);
  HostComparison within(gradient, rounding, nothing, allowed);
  EXPECT_EQ(within.output(3), 0x1.8p-24f);
  EXPECT_EQ(within.coarse_output().all, 0);
  HostComparison beyond(gradient, error, nothing, allowed);
  EXPECT_EQ(beyond.output(3), 0x1.8p-3f);
  EXPECT_EQ(beyond.coarse_output().all, 8);
  EXPECT_EQ(beyond.coarse_output().bfloat16, 8) << "the error without the allowance has more bits";
}

TEST(Allowances, OfAProblemAreThoseOfItsLoneKeys) {
  Problem problem;
  problem.op = "attention";
  problem.direction = Direction::backward;
  problem.dtype = DType::bfloat16;
  problem.gate = "normal";
  problem.shape = {.batch = 2, .seq = 70, .heads = 3, .key_dim = 16, .value_dim = 16};
  const Operator& op = *find_operator("attention");
  const ProblemTruth truth(op, problem, op.draw(problem));
  const std::span<const float> list = truth.allowances("dq");
  ASSERT_EQ(list.size(), 2u * 70 * 3 * 16);
  for (std::size_t i = 0; i < 3 * 16; ++i) EXPECT_GT(list[i], 0) << "of the first query";
  const TensorSpec& dq = *std::ranges::find(truth.outputs(), "dq", &TensorSpec::name);
  const std::int64_t products = problem.shape.value_dim;
  EXPECT_EQ(std::vector<float>(list.begin(), list.end()),
            allowances(dq, truth.expected().at("dq"),
                       op.cancelling_sizes(problem, truth.inputs()).at("dq"), products));
  std::size_t others = 0;
  for (std::size_t i = 10 * 3 * 16; i < 70 * 3 * 16; ++i) others += list[i] > 0 ? 1u : 0u;
  EXPECT_LT(others, 60 * 3 * 16 / 50) << "of queries that see several keys";
  EXPECT_TRUE(truth.allowances("dv").empty());
}

}  // namespace
}  // namespace gla_bench
