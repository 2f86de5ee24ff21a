#include "harness/emit/extent_formula.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace gla_bench {
namespace {

const std::vector<std::string> formula_names{"batch", "seq", "heads"};

/// Lines from (1, 1, 1), and points between.
ExtentPoints formula_points() {
  ExtentPoints points;
  points.points.push_back({1, 1, 1});
  for (std::size_t extent = 0; extent < 3; ++extent) {
    std::vector<std::size_t> line{0};
    for (std::int64_t value = 2; value <= 100'000; value += value < 516 ? 1 : value / 2) {
      Extents point{1, 1, 1};
      point[extent] = value;
      line.push_back(points.points.size());
      points.points.push_back(point);
    }
    points.lines.push_back(line);
  }
  for (std::int64_t i = 1; i < 60; ++i)
    points.points.push_back({i % 7 + 1, i * i * 13 + i, i % 11 + 1});
  return points;
}

std::string fitted_text(const std::function<std::int64_t(const Extents&)>& number) {
  const ExtentPoints points = formula_points();
  std::vector<std::int64_t> values;
  for (const Extents& point : points.points) values.push_back(number(point));
  const auto formula = fit_formula(points, values);
  return formula ? text_of(*formula, formula_names) : "none";
}

std::int64_t up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

TEST(ExtentFormula, IsFoundForWhatLaunchesNeed) {
  EXPECT_EQ(fitted_text([](const Extents&) { return 128; }), "128LL");
  EXPECT_EQ(fitted_text([](const Extents&) { return 0; }), "0LL");
  EXPECT_EQ(fitted_text([](const Extents& e) { return e[0] * e[2] * 4; }), "batch * heads * 4LL");
  EXPECT_EQ(fitted_text([](const Extents& e) { return e[0] * up(e[1], 64) * e[2]; }),
            "batch * ((seq + 63LL) / 64LL) * heads");
  EXPECT_EQ(fitted_text([](const Extents& e) { return up(e[0] * e[1] * e[2], 16); }),
            "((batch * seq * heads + 15LL) / 16LL)");
  EXPECT_EQ(fitted_text([](const Extents& e) { return e[0] * e[2] * 3 + 8; }),
            "batch * heads * 3LL + 8LL");
  EXPECT_EQ(fitted_text([](const Extents& e) { return e[2] * (e[1] / 256 + e[0]) * 5; }),
            "batch * heads * 5LL + (seq / 256LL) * heads * 5LL");
  EXPECT_EQ(fitted_text([](const Extents& e) { return up(5 * e[1], 16) * e[0]; }),
            "batch * ((5LL * seq + 15LL) / 16LL)");
  EXPECT_EQ(fitted_text([](const Extents& e) { return up(e[1], 4096); }),
            "((seq + 4095LL) / 4096LL)");
}

TEST(ExtentFormula, HasAnEndWhereBlocksFillTheDevice) {
  EXPECT_EQ(fitted_text([](const Extents& e) { return std::min<std::int64_t>(e[1], 40); }),
            "(seq < 40LL ? seq : 40LL)");
  EXPECT_EQ(fitted_text([](const Extents& e) {
              return std::min<std::int64_t>(e[0] * up(e[1], 64) * e[2] * 3, 1320);
            }),
            "(batch * ((seq + 63LL) / 64LL) * heads * 3LL < 1320LL ? "
            "batch * ((seq + 63LL) / 64LL) * heads * 3LL : 1320LL)");
}

TEST(ExtentFormula, IsNotFoundWhereItWouldBeWrongAtOnePoint) {
  EXPECT_EQ(fitted_text([](const Extents& e) { return e[1] * e[1]; }), "none");
  EXPECT_EQ(fitted_text([](const Extents& e) { return std::min<std::int64_t>(e[1] * e[1], 400); }),
            "none");
  EXPECT_EQ(fitted_text([](const Extents& e) { return std::min<std::int64_t>(e[1] + e[0], 400); }),
            "none")
      << "a cap goes with one product";
  // Off by one at a single one of the points.
  EXPECT_EQ(fitted_text([](const Extents& e) { return e[0] * e[2] + (e[1] == 13 * 59 * 59 + 59); }),
            "none");
}

TEST(ExtentFormula, ItsTextAndItsValueAreTheSame) {
  const ExtentFormula formula{{3, {{{1}, 2, 5, 7}, {{0}}}}, {4, {}}};
  EXPECT_EQ(text_of(formula, formula_names), "((2LL * seq + 5LL) / 7LL) * batch * 3LL + 4LL");
  EXPECT_EQ(value_of(formula, Extents{10, 100, 1}), (2 * 100 + 5) / 7 * 10 * 3 + 4);
  const ExtentFormula ending{{3, {{{0}}}, 20}};
  EXPECT_EQ(text_of(ending, formula_names), "(batch * 3LL < 20LL ? batch * 3LL : 20LL)");
  EXPECT_EQ(value_of(ending, Extents{6, 1, 1}), 18);
  EXPECT_EQ(value_of(ending, Extents{7, 1, 1}), 20);
}

}  // namespace
}  // namespace gla_bench
