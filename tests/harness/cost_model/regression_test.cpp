#include "harness/cost_model/regression.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace gla_bench::cost_model {
namespace {

/// Examples of a function of three features, drawn evenly from 0 to 4.
template <class Function>
std::pair<Rows, std::vector<double>> examples(int count, Function function, unsigned seed = 1) {
  std::mt19937 random(seed);
  const auto draw = [&] { return 4.0 * static_cast<double>(random() % 1000) / 1000; };
  Rows rows;
  std::vector<double> targets;
  for (int i = 0; i < count; ++i) {
    rows.push_back({draw(), draw(), draw()});
    targets.push_back(function(rows.back()));
  }
  return {rows, targets};
}

template <class Function>
double worst_error(const Regression& regression, Function function) {
  const auto [rows, targets] = examples(200, function, 99);
  double worst = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    worst = std::max(worst, std::abs(regression.predict(rows[i]) - targets[i]));
  return worst;
}

TEST(Regression, WithoutExamplesPredictsNothing) {
  EXPECT_EQ(fit({}, {}).predict({1, 2, 3}), 0);
}

TEST(Regression, LearnsLinesAndSteps) {
  const auto line = [](const std::vector<double>& x) { return 3 + 2 * x[0] - x[1]; };
  const auto [rows, targets] = examples(600, line);
  EXPECT_LT(worst_error(fit(rows, targets), line), 0.6);

  // Two features together: no sum of functions of one feature each gives this.
  const auto step = [](const std::vector<double>& x) {
    return (x[0] > 1) != (x[1] > 3) ? 4.0 : -4.0;
  };
  const auto [step_rows, step_targets] = examples(600, step);
  double squares = 0;
  const Regression regression = fit(step_rows, step_targets);
  const auto [fresh, expected] = examples(200, step, 7);
  for (std::size_t i = 0; i < fresh.size(); ++i)
    squares += std::pow(regression.predict(fresh[i]) - expected[i], 2) / 200;
  EXPECT_LT(std::sqrt(squares), 1.5);
  RegressionOptions linear;
  linear.trees = 0;
  double without_trees = 0;
  const Regression flat = fit(step_rows, step_targets, linear);
  for (std::size_t i = 0; i < fresh.size(); ++i)
    without_trees += std::pow(flat.predict(fresh[i]) - expected[i], 2) / 200;
  EXPECT_GT(std::sqrt(without_trees), 3);
}

TEST(Regression, GivesTheSameForTheSameExamples) {
  const auto line = [](const std::vector<double>& x) { return x[0] * x[1]; };
  const auto [rows, targets] = examples(300, line);
  EXPECT_EQ(fit(rows, targets).predict({1, 2, 3}), fit(rows, targets).predict({1, 2, 3}));
}

TEST(Regression, BeyondWhatItHasSeenItsLinesEnd) {
  const auto line = [](const std::vector<double>& x) { return 10 * x[0]; };
  const auto [rows, targets] = examples(300, line);
  const Regression regression = fit(rows, targets);
  EXPECT_EQ(regression.predict({4000, 1, 1}), regression.predict({4, 1, 1}));
}

/// As a feature that only one variant has: -1 for nine in ten examples.
TEST(Regression, LearnsFromFeaturesThatFewHave) {
  Rows rows;
  std::vector<double> targets;
  for (int i = 0; i < 600; ++i) {
    const bool has = i % 10 == 0;
    const double own = has ? i / 10 % 3 : -1.0, other = i % 7;
    rows.push_back({own, other});
    targets.push_back((has ? own == 1 ? 5.0 : 1.0 : 0.0) + (other > 3 ? 2.0 : 0.0));
  }
  const Regression regression = fit(rows, targets);
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_NEAR(regression.predict(rows[i]), targets[i], 0.5) << rows[i][0] << " " << rows[i][1];
}

/// Features that are the same everywhere, as most options are.
TEST(Regression, ConstantFeaturesDoNoHarm) {
  Rows rows;
  std::vector<double> targets;
  for (int i = 0; i < 50; ++i) {
    rows.push_back({7, static_cast<double>(i), 0});
    targets.push_back(i < 25 ? 1 : 2);
  }
  const Regression regression = fit(rows, targets);
  EXPECT_NEAR(regression.predict({7, 3, 0}), 1, 0.2);
  EXPECT_NEAR(regression.predict({9, 40, 5}), 2, 0.2);
}

}  // namespace
}  // namespace gla_bench::cost_model
