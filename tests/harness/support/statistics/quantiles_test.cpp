#include "harness/support/statistics/quantiles.hpp"

#include <gtest/gtest.h>

namespace gla_bench {
namespace {

// The figures of printed tables, to all of their digits.
TEST(Quantiles, OfTheNormalDistribution) {
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(normal_quantile(1e-6), -4.753424308822899, 1e-9);
  EXPECT_NEAR(normal_cdf(1), 0.841344746068543, 1e-12);
  EXPECT_EQ(normal_cdf(-60), 0);
}

TEST(Quantiles, OfStudentsDistribution) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.706204736432095, 1e-8);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.302652729911275, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 4), 2.776445105197799, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 19), 2.093024054408263, 1e-9);
  EXPECT_NEAR(student_quantile(0.025, 19), -student_quantile(0.975, 19), 1e-9);
  const double between = student_quantile(0.975, 4.5);
  EXPECT_LT(between, student_quantile(0.975, 4));
  EXPECT_GT(between, student_quantile(0.975, 5));
}

}  // namespace
}  // namespace gla_bench
