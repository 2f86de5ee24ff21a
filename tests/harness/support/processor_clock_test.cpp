#include "harness/support/processor_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

namespace gla_bench {
namespace {

TEST(ProcessorClock, DiffersByAQuarterAndAMillisecond) {
  EXPECT_FALSE(clocks_differ(1, 1));
  EXPECT_FALSE(clocks_differ(1, 1.2));
  EXPECT_FALSE(clocks_differ(1.2, 1));
  EXPECT_TRUE(clocks_differ(1, 1.3));
  EXPECT_TRUE(clocks_differ(1.3, 1));
  EXPECT_TRUE(clocks_differ(0.1, 1));
  EXPECT_TRUE(clocks_differ(0, 1));
  EXPECT_TRUE(clocks_differ(-0.5, 1)) << "a clock that was set back";
  EXPECT_FALSE(clocks_differ(0, 0.9e-3)) << "too short to tell";
  EXPECT_TRUE(clocks_differ(std::numeric_limits<double>::quiet_NaN(), 1));
}

TEST(ProcessorClock, AgreesWithTheSteadyClock) {
  if (!processor_ticks()) GTEST_SKIP() << "this processor has no counter of one rate";
  EXPECT_GT(processor_ticks_per_second(), 1e6);
  const TwoClocks clocks;
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(clocks.differ());
}

}  // namespace
}  // namespace gla_bench
