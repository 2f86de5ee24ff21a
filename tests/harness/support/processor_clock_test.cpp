#include "harness/support/processor_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <vector>

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

/// Clocks of a processor with a counter of 1 GHz, at which a microsecond passes between readings.
class FakeClocks {
 public:
  ClockReading operator()() {
    now_ += 1000;
    if (++readings_ == jump_at_) jumped_ += 5'000'000;
    return {static_cast<std::uint64_t>(now_ + jumped_), now_};
  }
  void jump_at(int reading) { jump_at_ = reading; }

 private:
  std::int64_t now_ = 0, jumped_ = 0;
  int readings_ = 0, jump_at_ = -1;
};

TEST(ProcessorClock, OneJumpDoesNotChangeTheRate) {
  FakeClocks clocks;
  EXPECT_DOUBLE_EQ(measured_ticks_per_second(std::ref(clocks)), 1e9);
  FakeClocks jumping;
  jumping.jump_at(700);  // in the first span
  EXPECT_DOUBLE_EQ(measured_ticks_per_second(std::ref(jumping)), 1e9);
  EXPECT_EQ(measured_ticks_per_second([] { return ClockReading{std::nullopt, 0}; }), 0);
}

TEST(ProcessorClock, TheClosestOfThreeReadingsIsTaken) {
  // Set aside for 900 ticks in the first reading, and for 50 in the third.
  const std::vector<std::uint64_t> counted{100, 1000, 2000, 2010, 3000, 3060};
  std::size_t asked = 0;
  std::int64_t steady = 0;
  const auto ticks = [&]() -> std::optional<std::uint64_t> { return counted.at(asked++); };
  const ClockReading closest = closest_reading(ticks, [&] { return steady += 7; });
  EXPECT_EQ(closest.ticks, 2000u);
  EXPECT_EQ(closest.nanoseconds, 14);
  EXPECT_EQ(asked, counted.size());
  const ClockReading steady_alone =
      closest_reading([] { return std::nullopt; }, [] { return std::int64_t{5}; });
  EXPECT_FALSE(steady_alone.ticks.has_value());
  EXPECT_EQ(steady_alone.nanoseconds, 5);
}

TEST(ProcessorClock, AReadingOfBothClocksIsAtOneMoment) {
  if (!processor_ticks()) GTEST_SKIP() << "this processor has no counter of one rate";
  const ClockReading first = read_clocks(), second = read_clocks();
  EXPECT_GT(*second.ticks, *first.ticks);
  EXPECT_GE(second.nanoseconds, first.nanoseconds);
}

}  // namespace
}  // namespace gla_bench
