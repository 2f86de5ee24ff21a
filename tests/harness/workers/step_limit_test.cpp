#include "harness/workers/step_limit.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace gla_bench {
namespace {

constexpr LimitPolicy policy{30, 1000, 600, 3600};
constexpr WorkRates h200{4000, 700};

TimingPolicy timing() {
  TimingPolicy t;
  t.max_seconds = 2;
  return t;
}

double limit(RunStep step, const StepWork& work, const WorkRates& rates = h200) {
  return step_limit(step, work, rates, policy, timing());
}

TEST(StepLimit, ASmallProblemGetsTheLeastSeconds) {
  EXPECT_NEAR(limit(RunStep::verify, {1e6, 1e6}), 30, 0.1);
  EXPECT_NEAR(limit(RunStep::measure, {1e6, 1e6}), 38, 0.1) << "and four series of two seconds";
  EXPECT_NEAR(limit(RunStep::counters, {1e6, 1e6}), 38, 0.1);
}

TEST(StepLimit, ALargeOneTheFactorTimesItsIdealTimeAndTheHostsShare) {
  // 4 GB at 4 TB/s are a millisecond; at 50 MB/s the host looks at them for 80 s.
  EXPECT_NEAR(limit(RunStep::verify, {4e9, 1}), 30 + 1 + 80, 1e-9);
  // 7e14 flops at 700 TFLOP/s take a second.
  EXPECT_NEAR(limit(RunStep::verify, {0, 7e14}), 30 + 1000, 1e-9);
}

TEST(StepLimit, TheLongerOfBytesAndFlopsCounts) {
  EXPECT_DOUBLE_EQ(ideal_seconds({4e12, 7e14}, h200), 1);
  EXPECT_DOUBLE_EQ(ideal_seconds({8e12, 7e14}, h200), 2);
  EXPECT_DOUBLE_EQ(ideal_seconds({4e12, 21e14}, h200), 3);
}

TEST(StepLimit, EmulatedCandidatesMayTakeLongerAndStillEnd) {
  const LimitPolicy usual, emulated = for_emulation(usual);
  EXPECT_GE(emulated.least_seconds, 10 * usual.least_seconds);
  EXPECT_LE(emulated.least_seconds, 3600);
  EXPECT_EQ(emulated.build_seconds, usual.build_seconds);
  EXPECT_EQ(emulated.factor, usual.factor);
}

TEST(StepLimit, BuildAndReferenceHaveTheirOwn) {
  EXPECT_EQ(limit(RunStep::build, {1e15, 1e18}), 600);
  EXPECT_EQ(limit(RunStep::reference, {1e15, 1e18}), 3600);
}

TEST(StepLimit, RatesThatWereNotMeasuredAreAssumedByTheKindOfPlace) {
  const WorkRates host = rates_or_assumed({}, BackendId::host);
  const WorkRates device = rates_or_assumed({}, BackendId::cuda);
  EXPECT_GT(host.copy_gb_per_s, 0);
  EXPECT_GT(device.copy_gb_per_s, host.copy_gb_per_s);
  EXPECT_GT(device.matrix_tflop_per_s, host.matrix_tflop_per_s);
  EXPECT_EQ(rates_or_assumed(h200, BackendId::cuda).copy_gb_per_s, 4000);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(rates_or_assumed({nan, -1}, BackendId::host).copy_gb_per_s, host.copy_gb_per_s);
  EXPECT_EQ(rates_or_assumed({nan, -1}, BackendId::host).matrix_tflop_per_s,
            host.matrix_tflop_per_s);
}

}  // namespace
}  // namespace gla_bench
