// How long a sweep takes, told before it runs and while it does.

#include "harness/engine/duration.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "harness/engine/run_progress.hpp"

namespace gla_bench {
namespace {

constexpr WorkRates h200{4000, 700};
using Stage = TimeLeft::Stage;

TEST(LikelySeconds, TinyCandidatesTakeWhatThePolicyGrants) {
  const TimingPolicy timing;  // 0.05 to 2 s, cold and hot
  const CandidateSeconds device = likely_seconds({1e6, 1e6}, h200, timing, BackendId::cuda);
  EXPECT_NEAR(device.verify, 0.060, 0.001);
  EXPECT_NEAR(device.measure, 2 * 0.05 + 0.2, 0.001);
  const CandidateSeconds host = likely_seconds({1e6, 1e6}, h200, timing, BackendId::host);
  EXPECT_NEAR(host.measure, 2 * 1.025, 0.001);
}

TEST(LikelySeconds, LongCallsTakeTheirFewestSamplesWithinTheLimit) {
  TimingPolicy timing;  // 3 calls to warm up, 10 samples
  // 0.4 TB at 4 TB/s: 0.1 s a call.
  EXPECT_NEAR(likely_seconds({4e11, 0}, h200, timing, BackendId::cuda).measure, 2 * 1.3 + 0.2,
              1e-9);
  // 1 s a call: the policy ends a series at 2 s.
  EXPECT_NEAR(likely_seconds({4e12, 0}, h200, timing, BackendId::cuda).measure, 2 * 2 + 0.2, 1e-9);
  // 3 s a call: one call is what there is at least.
  timing.hot = false;
  EXPECT_NEAR(likely_seconds({12e12, 0}, h200, timing, BackendId::cuda).measure, 3 + 0.2, 1e-9);
}

TEST(TimeLeft, BeginsWithWhatIsExpected) {
  EXPECT_DOUBLE_EQ(TimeLeft({0.1, 2}, 160, true).seconds(), 160 * 2.1);
  EXPECT_DOUBLE_EQ(TimeLeft({0.1, 2}, 160, false).seconds(), 160 * 0.1);
  EXPECT_DOUBLE_EQ(TimeLeft().seconds(), 0);
}

// 160 candidates on a host, 0.2 s to verify and 1.6 s to measure each, 40 of a problem verified
// before the first is measured. A mean over all steps would say 64 s after the first 40.
TEST(TimeLeft, DoesNotTakeCheapStepsForAll) {
  TimeLeft left({0.1, 2}, 160, true);
  double rest = 160 * 1.8;
  for (int problem = 0; problem < 4; ++problem)
    for (const auto& [stage, seconds] : {std::pair{Stage::verify, 0.2}, {Stage::measure, 1.6}})
      for (int i = 0; i < 40; ++i) {
        left.took(stage, seconds);
        rest -= seconds;
        EXPECT_NEAR(left.seconds(), rest, 0.3 * rest + 1) << problem << " " << i;
      }
  EXPECT_DOUBLE_EQ(left.seconds(), 0);
}

TEST(TimeLeft, StepsThatWillNotComeAreNotWaitedFor) {
  TimeLeft left({1, 10}, 2, true);
  left.took(Stage::verify, 1);
  left.skip(Stage::measure);
  EXPECT_DOUBLE_EQ(left.seconds(), 1 + 10);
  left.skip(Stage::measure);
  left.skip(Stage::measure);
  EXPECT_DOUBLE_EQ(left.seconds(), 1);
}

TEST(RunProgress, ShowsWhatIsLeft) {
  Candidate candidate;
  const Variant variant;
  candidate.variant = &variant;
  Record record;
  record.status = Status::measured;
  double now = 0;
  const auto clock = [&] { return now; };
  std::ostringstream out;
  Progress progress(out, 2 * 2, {false, 100, 0, clock});
  RunProgress steps(progress, true, TimeLeft({1, 10}, 2, true), clock);
  now = 1;
  steps.verified(candidate);
  EXPECT_NE(out.str().find("1/4  21s left"), std::string::npos) << out.str();
  now = 11;
  steps.recorded(candidate, record);
  EXPECT_NE(out.str().find("2/4  11s left"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace gla_bench
