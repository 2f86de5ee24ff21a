#include "harness/measure/readings.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "core/error.hpp"
#include "harness/backends/counters.hpp"
#include "tests/support/toy_backend.hpp"

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

class ReadingsTest : public ::testing::Test {
 protected:
  ReadingsTest() {
    record.status = Status::measured;
    record.timing.emplace().cold.median_ms = 1;
  }

  CounterReading count(std::function<CounterReading()> reading, bool best = true) {
    CountedPlan plan(script, std::move(reading));
    record_readings(plan, backend, counters, energy, best, record);
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

TEST_F(ReadingsTest, FiguresGoIntoTheRecord) {
  counters.metrics = {"lts__t_sector_hit_rate.pct"};
  EXPECT_EQ(count(figures).dram_read_bytes, 100);
  EXPECT_EQ(asked.back(), "lts__t_sector_hit_rate.pct");
  EXPECT_EQ(asked.front(), "dram__bytes_read.sum");
  EXPECT_FALSE(record.energy);
}

TEST_F(ReadingsTest, AFaultInThePassIsAReasonAndTheTimingStands) {
  const CounterReading reading =
      count([]() -> CounterReading { throw RunError("launch of 'x' failed"); });
  EXPECT_EQ(reading.source, CounterSource::failed);
  EXPECT_EQ(reading.reason, "launch of 'x' failed");
  EXPECT_EQ(record.status, Status::measured);
  EXPECT_EQ(record.timing->cold.median_ms, 1);
}

TEST_F(ReadingsTest, ALostDeviceIsToldOnWithTheReasonFilledIn) {
  EXPECT_THROW(count([]() -> CounterReading { throw DeviceLost("an illegal address"); }),
               DeviceLost);
  EXPECT_EQ(record.io.measured->source, CounterSource::failed);
  EXPECT_EQ(record.io.measured->reason, "an illegal address");
}

TEST_F(ReadingsTest, WhatIsNotAskedForDoesNotRun) {
  counters.of = Which::none;
  EXPECT_EQ(count(figures).source, CounterSource::not_asked);
  EXPECT_FALSE(record.io.measured->reason.empty());
  EXPECT_TRUE(asked.empty());
}

TEST_F(ReadingsTest, OfTheBestOnlyTheBest) {
  counters.of = energy.of = Which::best;
  EXPECT_EQ(count(figures, false).source, CounterSource::not_asked);
  EXPECT_FALSE(record.energy);
  EXPECT_EQ(count(figures, true).source, CounterSource::cupti);
  ASSERT_TRUE(record.energy);
  EXPECT_NE(record.energy->reason.find("no energy meter"), std::string::npos);
}

/// A chip that has all metrics but some.
class CheckedBackend final : public toy::ToyBackend {
 public:
  CheckedBackend(toy::Script& script, std::vector<std::string> lacks)
      : ToyBackend(BackendId::cuda, script), lacks_(std::move(lacks)) {}
  CounterCheck check_counters(std::span<const std::string> metrics) const override {
    CounterCheck check;
    check.source = CounterSource::cupti;
    check.passes = metrics.size() > io_metrics().size() ? 2 : 1;
    check.unknown = lacks_;
    return check;
  }

 private:
  std::vector<std::string> lacks_;
};

TEST_F(ReadingsTest, PlansPassesWithoutADevice) {
  EXPECT_EQ(plan_counters({}, CheckedBackend(script, {}), "c.json"), "10 metrics in 1 pass");
  EXPECT_EQ(plan_counters({Which::all, {"lts__t_sector_hit_rate.pct"}},
                          CheckedBackend(script, {"dram__bytes_read.sum"}), "c.json"),
            "10 metrics in 2 passes, without dram__bytes_read.sum, which the chip lacks");
  EXPECT_EQ(plan_counters({}, backend, "c.json"), "none: absent, this backend has no counters");
  EXPECT_EQ(plan_counters({Which::none, {}}, CheckedBackend(script, {}), "c.json"),
            "none: the config asks for none");
}

TEST_F(ReadingsTest, AMetricThatTheConfigNamesAndTheChipLacksIsBadInput) {
  try {
    plan_counters({Which::all, {"good.sum", "bad.sum"}}, CheckedBackend(script, {"bad.sum"}),
                  "c.json");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("c.json: /policy/counters/metrics: found \"bad.sum\""), std::string::npos)
        << text;
  }
}

TEST_F(ReadingsTest, ABackendWithoutCountersSaysSo) {
  toy::ToyPlan plan(script, "plain");
  record_readings(plan, backend, counters, energy, true, record);
  EXPECT_EQ(record.io.measured->source, CounterSource::absent);
  EXPECT_FALSE(record.io.measured->reason.empty());
}

}  // namespace
}  // namespace gla_bench
