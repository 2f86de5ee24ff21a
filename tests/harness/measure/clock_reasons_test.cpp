#include "harness/measure/clock_reasons.hpp"

#include <gtest/gtest.h>

#include "harness/measure/measure.hpp"
#include "tests/support/toy_backend.hpp"

namespace gla_bench {
namespace {

using Reasons = std::vector<std::string>;

/// Gives one list of reasons at each look, the last one for ever.
class ReasonedBackend final : public toy::ToyBackend {
 public:
  ReasonedBackend(toy::Script& script, std::vector<Reasons> looks)
      : ToyBackend(BackendId::cuda, script), looks_(std::move(looks)) {}
  Reasons clock_reasons() override { return looks_[std::min(next_++, looks_.size() - 1)]; }

 private:
  std::vector<Reasons> looks_;
  std::size_t next_ = 0;
};

class SteadyPlan final : public Plan {
 public:
  BuildInfo info() const override { return {}; }
  void prepare(Workset&) override {}
  void poison_workspace() override {}
  std::optional<std::string> damage() override { return std::nullopt; }
  void run() override {}
  double sample(CacheState, int) override { return 1e-3; }
};

Timing timed(std::vector<Reasons> looks) {
  toy::Script script;
  ReasonedBackend backend(script, std::move(looks));
  SteadyPlan plan;
  TimingPolicy policy;
  policy.min_samples = policy.max_samples = 3;
  return measure(plan, backend, policy, {});
}

TEST(ClockReasons, OnlyWhatSlowsTheDeviceDownThrottles) {
  EXPECT_TRUE(slows_down("sw_power_cap"));
  EXPECT_TRUE(slows_down("hw_thermal_slowdown"));
  EXPECT_FALSE(slows_down("idle"));
  EXPECT_FALSE(slows_down("application_clocks"));
}

TEST(ClockReasons, ARowThatWasSlowedDownSaysSo) {
  const Timing timing = timed({{"idle"}, {"sw_power_cap", "idle"}});
  EXPECT_TRUE(timing.throttled);
  EXPECT_EQ(timing.clock_reasons, (Reasons{"idle", "sw_power_cap"}));
}

TEST(ClockReasons, ClocksThatSomebodySetAreNoThrottling) {
  const Timing timing = timed({{"application_clocks"}});
  EXPECT_FALSE(timing.throttled);
  EXPECT_EQ(timing.clock_reasons, Reasons{"application_clocks"});
}

TEST(ClockReasons, ABackendThatKnowsNoneSaysNone) {
  const Timing timing = timed({{}});
  EXPECT_FALSE(timing.throttled);
  EXPECT_TRUE(timing.clock_reasons.empty());
}

}  // namespace
}  // namespace gla_bench
