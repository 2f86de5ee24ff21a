#include "harness/support/statistics/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace gla_bench {
namespace {

const double nan_value = std::numeric_limits<double>::quiet_NaN();

TEST(Statistics, QuantilesOfKnownNumbers) {
  const std::vector<double> samples{5, 1, 4, 2, 3};
  EXPECT_DOUBLE_EQ(median(samples), 3);
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 5);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.2), 1.8);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.8), 4.2);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{1, 2}), 1.5);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
}

TEST(Statistics, NothingAndNaNGiveNaN) {
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(median(std::vector<double>{1, nan_value, 2})));
  EXPECT_FALSE(relative_noise(std::vector<double>{1, nan_value, 1, 1, 1}) <= 1);
}

TEST(Statistics, NoiseOfKnownNumbers) {
  // Quartiles 11 and 13, median 12: sigma 2/1.349, n 5.
  const std::vector<double> samples{10, 11, 12, 13, 14};
  EXPECT_NEAR(relative_noise(samples), 1.2533 * (2 / 1.349) / std::sqrt(5.0) / 12, 1e-12);
  EXPECT_EQ(relative_noise(std::vector<double>{3, 3, 3, 3}), 0);
  EXPECT_TRUE(std::isinf(relative_noise(std::vector<double>{3, 3, 3})));
  EXPECT_TRUE(std::isinf(relative_noise(std::vector<double>{0, 0, 0, 0})));
}

TEST(Statistics, NoiseFallsWithTheRootOfTheCountAndIgnoresRareOutliers) {
  std::vector<double> few, many;
  for (int i = 0; i < 20; ++i) few.push_back(100 + i % 5);
  for (int i = 0; i < 2000; ++i) many.push_back(100 + i % 5);
  EXPECT_NEAR(relative_noise(few) / relative_noise(many), 10, 0.01);
  std::vector<double> outlier = many;
  outlier[7] = 1e6;
  EXPECT_NEAR(relative_noise(outlier), relative_noise(many), 1e-6);
}

}  // namespace
}  // namespace gla_bench
