// Softmax over rows against another form and against what it must be.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/operator.hpp"
#include "tests/reference/central_differences.hpp"
#include "tests/support/distance.hpp"

namespace gla_bench {
namespace {

Problem softmax(std::int64_t rows, std::int64_t columns, const std::string& gate, DType dtype) {
  Problem problem;
  problem.op = "softmax";
  problem.shape.batch = rows;
  problem.shape.columns = columns;
  problem.gate = gate;
  problem.dtype = dtype;
  return problem;
}

TEST(Softmax, EqualsItsSecondFormAndSumsToOne) {
  const Operator& op = *find_operator("softmax");
  for (const std::string& gate : op.gates)
    for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16})
      for (const std::int64_t columns : {1, 7, 1000}) {
        Problem problem = softmax(9, columns, gate, dtype);
        if (columns == 7) problem.scale = 0.3;
        if (columns == 1000 && gate != "masked") problem.scale = -0.7;
        ASSERT_EQ(op.refuse(problem), std::nullopt);
        const HostTensors inputs = op.draw(problem);
        const std::vector<double> y = op.reference(problem, inputs).at("y");
        const std::vector<double> other = op.second_form(problem, inputs).at("y");
        for (std::int64_t row = 0; row < 9; ++row) {
          double sum = 0;
          bool empty = true;
          for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i) {
            EXPECT_NEAR(y[i], other[i], 1e-12) << describe(problem);
            sum += y[i];
            empty &= std::isinf(inputs.at("x")[i]);
          }
          EXPECT_NEAR(sum, empty ? 0.0 : 1.0, 1e-12) << describe(problem);
        }
      }
}

TEST(Softmax, RegimesAreWhatTheySay) {
  const Operator& op = *find_operator("softmax");
  const auto draw = [&](const char* gate) {
    return op.draw(softmax(10, 400, gate, DType::float32)).at("x");
  };
  std::int64_t holes = 0;
  const std::vector<float> masked = draw("masked");
  for (std::size_t i = 0; i < masked.size(); ++i) {
    holes += std::isinf(masked[i]);
    if (i / 400 % 5 == 3) {
      EXPECT_TRUE(std::isinf(masked[i]));
    }
  }
  EXPECT_NEAR(static_cast<double>(holes), 800 + 0.3 * 3200, 100);
  float most = 0;
  for (const float x : draw("large")) most = std::max(most, std::abs(x));
  EXPECT_GT(most, 9000);
  EXPECT_LE(most, 1e4f);
  for (const float x : draw("shifted")) EXPECT_NEAR(x, 1e4, 60);
}

TEST(Softmax, HandComputedExample) {
  const Operator& op = *find_operator("softmax");
  const Problem problem = softmax(1, 3, "normal", DType::float32);
  const auto log2 = static_cast<float>(std::log(2.0));
  const std::vector<double> y =
      op.reference(problem, {{"x", {log2 + 1000, 1000, -INFINITY}}}).at("y");
  EXPECT_NEAR(y[0], 2.0 / 3, 1e-4);  // 1000 + log 2 has no more digits in float32
  EXPECT_NEAR(y[1], 1.0 / 3, 1e-4);
  EXPECT_EQ(y[2], 0);
  Problem flat = problem;
  flat.scale = 0.0;
  EXPECT_NE(op.refuse(flat), std::nullopt);
  EXPECT_EQ(op.refuse(problem), std::nullopt);
}

TEST(Softmax, ANegativeScaleTurnsTheOrderRound) {
  const Operator& op = *find_operator("softmax");
  Problem problem = softmax(1, 3, "normal", DType::float32);
  problem.scale = -2.0;
  const std::vector<double> y = op.reference(problem, {{"x", {1e4f + 1, 1e4f, 1e4f + 3}}}).at("y");
  const double sum = 1 + std::exp(-2.0) + std::exp(-6.0);
  EXPECT_NEAR(y[0], std::exp(-2.0) / sum, 1e-15);
  EXPECT_NEAR(y[1], 1 / sum, 1e-15);
  EXPECT_NEAR(y[2], std::exp(-6.0) / sum, 1e-15);
  EXPECT_EQ(op.refuse(problem), std::nullopt);
  problem.gate = "masked";
  EXPECT_NE(op.refuse(problem), std::nullopt);
}

/// Gradients of drawn rows, whose y is the forward's as far as float32 holds it.
TEST(Softmax, GradientsAreDifferencesOfTheForward) {
  const Operator& op = *find_operator("softmax");
  for (const char* gate : {"normal", "shifted"})
    for (const double scale : {1.0, -0.7}) {
      Problem problem = softmax(3, 20, gate, DType::float32);
      problem.scale = scale;
      HostTensors inputs = op.draw(problem);  // x
      problem.direction = Direction::backward;
      HostTensors given = op.draw(problem);  // y, dy
      inputs["dy"] = given.at("dy");
      const std::vector<double> dx = op.reference(problem, given).at("dx");
      EXPECT_LE(distance(central_differences(problem, inputs, "x"), dx), 1e-5) << gate << scale;
      std::vector<float>& y = given.at("y");
      *std::max_element(y.begin(), y.end()) *= 1.01f;
      EXPECT_GT(distance(dx, op.reference(problem, given).at("dx")), 1e-5);
    }
}

TEST(Softmax, GradientsOfAHandComputedRow) {
  const Operator& op = *find_operator("softmax");
  Problem problem = softmax(1, 3, "normal", DType::float32);
  problem.direction = Direction::backward;
  problem.scale = 2.0;
  // The sum of y dy is 0.5 * 4 - 0.25 * 2 = 1.5.
  const HostTensors inputs{{"y", {0.5f, 0.25f, 0.25f}}, {"dy", {4, -2, 0}}};
  EXPECT_EQ(op.reference(problem, inputs).at("dx"), (std::vector<double>{2.5, -1.75, -0.75}));
  EXPECT_EQ(op.second_form(problem, inputs).at("dx"), (std::vector<double>{2.5, -1.75, -0.75}));
  const std::vector<TensorSpec> tensors = op.tensors(problem);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(op.work(problem).floor_bytes, 3 * 3 * 4.0);
  EXPECT_EQ(op.signed_inputs(problem), std::vector<std::string>{"dy"});
}

TEST(Softmax, RegimesOfGradients) {
  const Operator& op = *find_operator("softmax");
  Problem problem = softmax(10, 400, "large", DType::float16);
  problem.direction = Direction::backward;
  HostTensors inputs = op.draw(problem);
  float most = 0, most_weight = 0;
  for (const float dy : inputs.at("dy")) most = std::max(most, std::abs(dy));
  for (const float y : inputs.at("y")) most_weight = std::max(most_weight, y);
  EXPECT_GT(most, 9000);
  EXPECT_LE(most, 1e4f);
  EXPECT_LT(most_weight, 0.2f);
  problem.gate = "masked";
  inputs = op.draw(problem);
  const std::vector<double> dx = op.reference(problem, inputs).at("dx");
  for (std::size_t i = 0; i < dx.size(); ++i) {
    if (i / 400 % 5 == 3) {
      EXPECT_EQ(inputs.at("y")[i], 0.0f);
      EXPECT_EQ(dx[i], 0.0);
    }
  }
}

}  // namespace
}  // namespace gla_bench
