#include "harness/measure/measure.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

#include "harness/measure/checks.hpp"
#include "tests/support/toy.hpp"
#include "tests/support/toy_backend.hpp"

namespace gla_bench {
namespace {

/// 1e9 bytes at 100 GB/s: 10 ms.
SpeedLimit limit() {
  return {1e9, 100, 1e6};
}

TEST(Suspect, WhatBeatsTheFloorByMoreThanTheMargin) {
  EXPECT_FALSE(is_suspect(0.010, limit()));
  EXPECT_FALSE(is_suspect(0.010 / suspect_margin * 1.01, limit()));
  EXPECT_TRUE(is_suspect(0.010 / suspect_margin * 0.99, limit()));
  EXPECT_TRUE(is_suspect(0, limit()));
  EXPECT_TRUE(is_suspect(std::numeric_limits<double>::quiet_NaN(), limit()));
}

TEST(Suspect, NoClaimWithoutARateOrForWhatFitsTheCache) {
  SpeedLimit l = limit();
  l.copy_gb_per_s = 0;
  EXPECT_FALSE(is_suspect(1e-9, l));
  l = limit();
  l.last_level_cache = 0;
  EXPECT_FALSE(is_suspect(1e-9, l));
  l.last_level_cache = 0.6e9;
  EXPECT_FALSE(is_suspect(1e-9, l));
  l.last_level_cache = 0.4e9;
  EXPECT_TRUE(is_suspect(1e-9, l));
}

class CountingPlan : public Plan {
 public:
  BuildInfo info() const override { return {}; }
  void prepare(Workset&) override {}
  void poison_workspace() override {}
  std::optional<std::string> damage() override { return std::nullopt; }
  void run() override { ++runs; }
  double sample(CacheState cache, int calls) override {
    (cache == CacheState::cold ? cold : hot).push_back(calls);
    return 1e-4;
  }
  int runs = 0;
  std::vector<int> cold, hot;
};

TEST(Measure, WarmsUpThenColdThenHot) {
  toy::Script script;
  toy::ToyBackend backend(BackendId::host, script);
  CountingPlan plan;
  TimingPolicy policy;
  policy.warmup = 3;
  policy.min_samples = 5;
  policy.min_seconds = 0;
  const Timing timing = measure(plan, backend, policy, {});
  EXPECT_EQ(plan.runs, 3 + 5) << "warm-up, then by the wall clock";
  EXPECT_TRUE(timing.wall_ms.has_value());
  EXPECT_EQ(plan.cold, std::vector<int>(5, 1)) << "a cold sample is one call";
  ASSERT_EQ(plan.hot.size(), 5u);
  EXPECT_EQ(plan.hot[0], 10) << "calls that fill a millisecond";
  EXPECT_EQ(timing.cold.samples_ms.size(), 5u);
  EXPECT_EQ(timing.clock_mhz_before, 1000);
  EXPECT_EQ(timing.clock_mhz_after, 1000);
  EXPECT_FALSE(timing.suspect);
  EXPECT_TRUE(measure(plan, backend, policy, limit()).suspect);
  policy.hot = false;
  EXPECT_FALSE(measure(plan, backend, policy, {}).hot);
}

TEST(WallClock, ContradictsATimerThatSaysMuchLess) {
  EXPECT_FALSE(contradicts_wall_clock(1e-3, 1e-3, 1));
  EXPECT_FALSE(contradicts_wall_clock(1e-3, 3e-3, 1));
  EXPECT_TRUE(contradicts_wall_clock(1e-3, 3.3e-3, 1));
  EXPECT_FALSE(contradicts_wall_clock(1e-3, 3.3e-3, 100)) << "launches take the host's time";
  EXPECT_FALSE(contradicts_wall_clock(1e-6, 150e-6, 1)) << "waking up does";
  EXPECT_TRUE(contradicts_wall_clock(std::numeric_limits<double>::quiet_NaN(), 1, 1));
}

TEST(UnseenInputs, AreNotMuchSlowerThanKnownOnes) {
  using Seconds = std::vector<double>;
  const Seconds known{1e-3, 2e-3, 1.1e-3};
  EXPECT_FALSE(contradicts_unseen_inputs(known, Seconds{1.2e-3, 9e-3}));
  EXPECT_FALSE(contradicts_unseen_inputs(known, Seconds{1.66e-3}));
  EXPECT_TRUE(contradicts_unseen_inputs(known, Seconds{1.68e-3, 9e-3}));
  EXPECT_FALSE(contradicts_unseen_inputs({}, Seconds{9e-3}));
  EXPECT_FALSE(contradicts_unseen_inputs(known, {}));
  EXPECT_FALSE(contradicts_unseen_inputs(Seconds{1e-6}, Seconds{20e-6})) << "too short to tell";
}

// Takes longer with inputs that it has not seen: every fourth sample has such.
class RememberingPlan final : public CountingPlan {
 public:
  explicit RememberingPlan(std::size_t slow_until) : slow_until_(slow_until) {}
  double sample(CacheState cache, int calls) override {
    CountingPlan::sample(cache, calls);
    return unseen && cold.size() <= slow_until_ ? 1e-3 : 1e-4;
  }
  SampleHooks hooks() {
    return {[this] { return unseen = befores++ % 4 == 3; }, [this] { ++afters; }};
  }
  bool unseen = false;
  int befores = 0, afters = 0;

 private:
  std::size_t slow_until_;
};

TEST(Measure, SeesAnswersByContentAndLooksTwice) {
  toy::Script script;
  toy::ToyBackend backend(BackendId::host, script);
  TimingPolicy policy;
  policy.min_samples = policy.max_samples = 8;
  policy.hot = false;
  RememberingPlan always(1000);
  const Timing timing = measure(always, backend, policy, {}, always.hooks());
  EXPECT_TRUE(timing.suspect);
  EXPECT_EQ(timing.suspect_check, check::unseen_inputs);
  EXPECT_EQ(timing.cold.samples_ms.size(), 8u) << "further samples are not of the series";
  EXPECT_EQ(always.befores, 28) << "five more of the kind";
  EXPECT_EQ(always.afters, always.befores);
  EXPECT_EQ(always.cold.size(), 29u) << "the last sample has the first inputs";
  RememberingPlan delayed(8);
  EXPECT_FALSE(measure(delayed, backend, policy, {}, delayed.hooks()).suspect);
  RememberingPlan honest(0);
  EXPECT_FALSE(measure(honest, backend, policy, {}, honest.hooks()).suspect);
  EXPECT_EQ(honest.befores, 8);
}

// Says that nothing takes any time, and does the work when somebody waits.
class NotWaitingPlan final : public CountingPlan {
 public:
  void run() override {
    CountingPlan::run();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  double sample(CacheState cache, int calls) override {
    CountingPlan::sample(cache, calls);
    return 1e-6;
  }
};

TEST(Measure, SeesATimerThatDoesNotWait) {
  toy::Script script;
  toy::ToyBackend backend(BackendId::host, script);
  NotWaitingPlan plan;
  TimingPolicy policy;
  policy.min_samples = policy.max_samples = 3;
  const Timing timing = measure(plan, backend, policy, {});
  EXPECT_TRUE(timing.suspect);
  EXPECT_EQ(timing.suspect_check, check::wall_clock);
  EXPECT_GE(*timing.wall_ms, 2);
  EXPECT_LE(plan.runs, 3 + 5 + 20) << "it looks twice";
  EXPECT_GT(plan.runs, 3 + 5);
  EXPECT_EQ(plan.cold.size(), 4u) << "and the last call is a sample";
}

// A paused machine's clocks differ once; a clock that something slowed differs each time.
TEST(Measure, ClocksThatDifferOnceAreMeasuredAgain) {
  const double rate = processor_ticks_per_second();
  if (!(rate > 0)) GTEST_SKIP() << "this processor has no counter of one rate";
  for (const bool always : {false, true}) {
    SCOPED_TRACE(always);
    toy::Script script;
    toy::ToyBackend backend(BackendId::host, script);
    CountingPlan plan;
    SampleHooks hooks;
    int readings = 0;
    hooks.clocks = [&] {
      const bool end_of_a_measurement = readings % 2 == 1;
      const double seconds = end_of_a_measurement && (always || readings == 1) ? 1.0 : 0.1;
      const std::int64_t start = 1'000'000'000LL * (readings / 2);
      const double ticks =
          static_cast<double>(start) * 1e-9 * rate + (readings % 2) * seconds * rate;
      const std::int64_t now = start + (readings % 2) * 100'000'000LL;
      ++readings;
      return ClockReading{static_cast<std::uint64_t>(ticks), now};
    };
    TimingPolicy policy;
    policy.min_samples = policy.max_samples = 3;
    const Timing timing = measure(plan, backend, policy, {}, hooks);
    EXPECT_EQ(readings, 4) << "it measures twice";
    EXPECT_EQ(timing.cold.samples_ms.size(), 3u);
    EXPECT_EQ(timing.suspect, always);
    EXPECT_EQ(timing.suspect_check, always ? check::clocks : std::string_view());
  }
}

TEST(Sustained, CopiesExceedTheCacheFourTimes) {
  EXPECT_EQ(copies_beyond_cache(100, 100), 4u);
  EXPECT_EQ(copies_beyond_cache(99, 100), 5u);
  EXPECT_EQ(copies_beyond_cache(1e9, 100), 1u) << "one is enough";
  EXPECT_EQ(copies_beyond_cache(100, 6400), 256u);
  EXPECT_EQ(copies_beyond_cache(99, 6400), std::nullopt) << "too many";
  EXPECT_EQ(copies_beyond_cache(100, 0), std::nullopt) << "an unknown cache";
  EXPECT_EQ(copies_beyond_cache(0, 100), std::nullopt);
}

class SustainedPlan final : public CountingPlan {
 public:
  double sustained(std::span<Workset* const> worksets, int rounds) override {
    EXPECT_EQ(worksets.size(), 4u);
    asked.push_back(rounds);
    return 2e-4;
  }
  std::vector<int> asked;
};

TEST(Sustained, ASampleIsSomeMillisecondsOfWholeRounds) {
  SustainedPlan plan;
  const std::vector<Workset*> worksets(4);
  TimingPolicy policy;
  policy.min_samples = 3;
  policy.min_seconds = 0;
  policy.max_seconds = 1;
  const auto series = measure_sustained(plan, worksets, 1e-4, policy);
  ASSERT_TRUE(series);
  EXPECT_EQ(plan.asked, std::vector<int>(series->samples_ms.size(), 10));
  EXPECT_DOUBLE_EQ(series->median_ms, 0.2);
  EXPECT_TRUE(measure_sustained(plan, worksets, 0.12, policy));
  EXPECT_EQ(plan.asked.back(), 1) << "at least a round";
  EXPECT_FALSE(measure_sustained(plan, worksets, 0.13, policy)) << "two rounds take too long";
}

class StagedPlan final : public CountingPlan {
 public:
  std::vector<StageTime> stage_times(CacheState cache) override {
    EXPECT_EQ(cache, CacheState::cold);
    return {{"first", 1e-3}, {"second", 2e-3}};
  }
};

TEST(Measure, StagesGetTheirModelledBytes) {
  StagedPlan plan;
  Variant variant = toy::make_variant("staged", BackendId::host, {});
  const Candidate candidate{&variant, Problem{}, {}};
  EXPECT_TRUE(measure_stages(plan, candidate).empty()) << "a variant that gives no stages";
  variant.stages = [](const Problem&, const Tile&) {
    return std::vector<StageTraffic>{{"second", {30, 40}}, {"first", {10, 20}}};
  };
  const std::vector<Stage> stages = measure_stages(plan, candidate);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].name, "first");
  EXPECT_EQ(stages[0].median_ms, 1);
  EXPECT_EQ(stages[0].model_read_bytes, 10);
  EXPECT_EQ(stages[0].model_write_bytes, 20);
  EXPECT_EQ(stages[1].model_read_bytes, 30);
  variant.stages = [](const Problem&, const Tile&) {
    return std::vector<StageTraffic>{{"first", {}}};
  };
  EXPECT_THROW(measure_stages(plan, candidate), RunError);
}

}  // namespace
}  // namespace gla_bench
