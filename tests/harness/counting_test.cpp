#include "harness/counting.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "tests/harness/toy_backend.hpp"

namespace gla_bench {
namespace {

/// Counts, or does what the test wants in its place.
class CountedPlan final : public toy::ToyPlan {
 public:
  CountedPlan(toy::Script& script, std::function<CounterReading()> count)
      : ToyPlan(script, "counted"), count_(std::move(count)) {}
  CounterReading count(std::span<const std::string> metrics) override {
    asked.assign(metrics.begin(), metrics.end());
    return count_();
  }
  void repeat(int) override {}
  std::vector<std::string> asked;

 private:
  std::function<CounterReading()> count_;
};

class CountingTest : public ::testing::Test {
 protected:
  CountingTest() {
    record.status = Status::measured;
    record.timing.emplace().cold.median_ms = 1;
  }

  CounterReading count(std::function<CounterReading()> reading, bool best = true) {
    CountedPlan plan(script, std::move(reading));
    record_counts(plan, backend, counters, energy, best, record);
    asked = plan.asked;
    return *record.io.measured;
  }

  static CounterReading figures() {
    CounterReading reading;
    reading.source = CounterSource::cupti;
    reading.dram_read_bytes = 100;
    return reading;
  }

  toy::Script script;
  toy::ToyBackend backend{BackendId::cuda, script};
  CounterPolicy counters;
  EnergyPolicy energy{Which::none, 0.3};
  Record record;
  std::vector<std::string> asked;
};

TEST_F(CountingTest, FiguresGoIntoTheRecord) {
  counters.metrics = {"lts__t_sector_hit_rate.pct"};
  EXPECT_EQ(count(figures).dram_read_bytes, 100);
  EXPECT_EQ(asked.back(), "lts__t_sector_hit_rate.pct");
  EXPECT_EQ(asked.front(), "dram__bytes_read.sum");
  EXPECT_FALSE(record.energy);
}

TEST_F(CountingTest, AFaultInThePassIsAReasonAndTheTimingStands) {
  const CounterReading reading =
      count([]() -> CounterReading { throw RunError("launch of 'x' failed"); });
  EXPECT_EQ(reading.source, CounterSource::failed);
  EXPECT_EQ(reading.reason, "launch of 'x' failed");
  EXPECT_EQ(record.status, Status::measured);
  EXPECT_EQ(record.timing->cold.median_ms, 1);
}

TEST_F(CountingTest, ALostDeviceIsToldOnWithTheReasonFilledIn) {
  EXPECT_THROW(count([]() -> CounterReading { throw DeviceLost("an illegal address"); }),
               DeviceLost);
  EXPECT_EQ(record.io.measured->source, CounterSource::failed);
  EXPECT_EQ(record.io.measured->reason, "an illegal address");
}

TEST_F(CountingTest, WhatIsNotAskedForDoesNotRun) {
  counters.of = Which::none;
  EXPECT_EQ(count(figures).source, CounterSource::not_asked);
  EXPECT_FALSE(record.io.measured->reason.empty());
  EXPECT_TRUE(asked.empty());
}

TEST_F(CountingTest, OfTheBestOnlyTheBest) {
  counters.of = energy.of = Which::best;
  EXPECT_EQ(count(figures, false).source, CounterSource::not_asked);
  EXPECT_FALSE(record.energy);
  EXPECT_EQ(count(figures, true).source, CounterSource::cupti);
  ASSERT_TRUE(record.energy);
  EXPECT_NE(record.energy->reason.find("no energy meter"), std::string::npos);
}

TEST_F(CountingTest, ABackendWithoutCountersSaysSo) {
  toy::ToyPlan plan(script, "plain");
  record_counts(plan, backend, counters, energy, true, record);
  EXPECT_EQ(record.io.measured->source, CounterSource::absent);
  EXPECT_FALSE(record.io.measured->reason.empty());
}

}  // namespace
}  // namespace gla_bench
