#include "harness/measure/series.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gla_bench {
namespace {

TEST(Series, KeepsEverySampleInOrder) {
  const Series series = summarize(std::vector<double>{0.003, 0.001, 0.002}, "noise");
  EXPECT_EQ(series.samples_ms, (std::vector<double>{3, 1, 2}));
  EXPECT_DOUBLE_EQ(series.median_ms, 2);
  EXPECT_DOUBLE_EQ(series.min_ms, 1);
  EXPECT_DOUBLE_EQ(series.p20_ms, 1.4);
  EXPECT_DOUBLE_EQ(series.p80_ms, 2.6);
  EXPECT_EQ(series.stopped_because, "noise");
}

}  // namespace
}  // namespace gla_bench
