// Softmax over rows against another form and against what it must be.

#include <gtest/gtest.h>

#include <cmath>

#include "core/operator.hpp"

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

}  // namespace
}  // namespace gla_bench
