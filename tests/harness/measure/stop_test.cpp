#include "harness/measure/stop.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace gla_bench {
namespace {

TimingPolicy policy() {
  TimingPolicy p;
  p.min_samples = 5;
  p.max_samples = 50;
  p.min_seconds = 0.1;
  p.max_seconds = 1;
  p.max_noise = 0.01;
  return p;
}

std::vector<double> steady(std::size_t count) {
  return std::vector<double>(count, 2.0);
}

std::vector<double> noisy(std::size_t count) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(i % 2 == 0 ? 1.0 : 3.0);
  return samples;
}

TEST(Stop, NoiseNeedsEnoughSamplesAndSeconds) {
  EXPECT_EQ(stop_reason(policy(), steady(5), 0.1), "noise");
  EXPECT_FALSE(stop_reason(policy(), steady(4), 0.5));
  EXPECT_FALSE(stop_reason(policy(), steady(5), 0.05));
  EXPECT_FALSE(stop_reason(policy(), noisy(6), 0.5));
}

TEST(Stop, TimeEndsANoisySeries) {
  EXPECT_FALSE(stop_reason(policy(), noisy(20), 0.99));
  EXPECT_EQ(stop_reason(policy(), noisy(20), 1.0), "time");
  EXPECT_EQ(stop_reason(policy(), noisy(1), 30), "time");
}

TEST(Stop, SamplesEndIt) {
  EXPECT_FALSE(stop_reason(policy(), noisy(49), 0.2));
  EXPECT_EQ(stop_reason(policy(), noisy(50), 0.2), "samples");
}

TEST(Stop, NeverWithoutASample) {
  EXPECT_FALSE(stop_reason(policy(), {}, 100));
}

TEST(Stop, NaNSamplesDoNotConverge) {
  std::vector<double> samples = steady(10);
  samples[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(stop_reason(policy(), samples, 0.5));
}

TEST(Stop, LongSeriesAreStillAsked) {
  TimingPolicy p = policy();
  p.max_samples = 100000;
  int asked = 0;
  for (std::size_t count = 1000; count < 1100; ++count)
    if (stop_reason(p, steady(count), 0.5)) ++asked;
  EXPECT_GE(asked, 3);
}

}  // namespace
}  // namespace gla_bench
