#include "harness/measure/energy.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "tests/support/toy_backend.hpp"

namespace gla_bench {
namespace {

TEST(Energy, IsTakenBetweenStepsOfTheMeter) {
  // It moves at 0.02, 0.12 and 0.22 s; what lies before the first and behind the last is unknown.
  const std::vector<MeterReading> readings{{0.00, 50},  {0.01, 50},  {0.02, 60},  {0.07, 60},
                                           {0.12, 110}, {0.17, 110}, {0.22, 160}, {0.27, 160}};
  const Energy energy = energy_of(readings, 0.01);
  ASSERT_TRUE(energy.joules_per_call);
  EXPECT_EQ(energy.calls, 20);
  EXPECT_NEAR(*energy.joules_per_call, 5, 1e-9);
  EXPECT_NEAR(energy.window_seconds, 0.2, 1e-12);
  EXPECT_NEAR(energy.watts, 500, 1e-9);
  EXPECT_TRUE(energy.reason.empty());
}

TEST(Energy, AMeterThatHardlyMovesGivesNoFigure) {
  for (const auto& readings : {std::vector<MeterReading>{{0, 5}, {1, 5}},
                               std::vector<MeterReading>{{0, 5}, {0.1, 6}, {0.2, 7}}}) {
    const Energy energy = energy_of(readings, 0.01);
    EXPECT_FALSE(energy.joules_per_call);
    EXPECT_NE(energy.reason.find("too few"), std::string::npos) << energy.reason;
  }
}

TEST(Energy, BatchesAreShortBesideTheMetersSteps) {
  EXPECT_EQ(calls_per_batch(1e-3), 5);
  EXPECT_EQ(calls_per_batch(1.0), 1);
  EXPECT_EQ(calls_per_batch(1e-9), 10000);
  EXPECT_EQ(calls_per_batch(0), 1);
}

/// The meter gains five joules at every tenth look.
class MeteredBackend final : public toy::ToyBackend {
 public:
  using ToyBackend::ToyBackend;
  std::optional<double> energy_joules() override { return 5.0 * (++looks_ / 10); }

 private:
  int looks_ = 0;
};

class SleepingPlan final : public Plan {
 public:
  BuildInfo info() const override { return {}; }
  void prepare(Workset&) override {}
  void poison_workspace() override {}
  std::optional<std::string> damage() override { return std::nullopt; }
  void run() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++runs;
  }
  double sample(CacheState, int) override { return 1e-3; }
  int runs = 0;
};

TEST(Energy, RepeatsTheCandidateUntilTheMeterHasCoveredTheWindow) {
  toy::Script script;
  MeteredBackend backend(BackendId::cuda, script);
  SleepingPlan plan;
  const Energy energy = measure_energy(plan, backend, 1e-3, {Which::all, 2.0});
  ASSERT_TRUE(energy.joules_per_call) << energy.reason;
  EXPECT_GT(energy.window_seconds, 0);
  EXPECT_GT(plan.runs, 0);
  EXPECT_GT(energy.calls, 0);
  EXPECT_NEAR(*energy.joules_per_call * static_cast<double>(energy.calls),
              energy.watts * energy.window_seconds, 0.5 * *energy.joules_per_call);
}

TEST(Energy, AFaultOfTheCandidateGetsOutAndTheReadingEnds) {
  class Failing final : public toy::ToyPlan {
   public:
    explicit Failing(toy::Script& script) : ToyPlan(script, "failing") {}
    void repeat(int) override { throw RunError("launch failed"); }
  };
  toy::Script script;
  MeteredBackend backend(BackendId::cuda, script);
  Failing plan(script);
  EXPECT_THROW(measure_energy(plan, backend, 1e-3, {Which::all, 60}), RunError);
}

TEST(Energy, WithoutAMeterThereIsAReason) {
  toy::Script script;
  toy::ToyBackend backend(BackendId::cuda, script);
  SleepingPlan plan;
  const Energy energy = measure_energy(plan, backend, 1e-3, {});
  EXPECT_FALSE(energy.joules_per_call);
  EXPECT_NE(energy.reason.find("no energy meter"), std::string::npos);
  EXPECT_EQ(plan.runs, 0);
}

}  // namespace
}  // namespace gla_bench
