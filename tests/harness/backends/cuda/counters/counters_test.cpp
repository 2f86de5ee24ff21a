#include "harness/backends/cuda/counters/counters.hpp"

#include <gtest/gtest.h>

#include "harness/backends/counters.hpp"

namespace gla_bench::cuda {
namespace {

/// What CUPTI's tables say of a chip; skips, by name, where this machine has no CUPTI.
class CountersOffline : public ::testing::Test {
 protected:
  void SetUp() override {
    const CounterCheck check = check_counters(with_io_metrics({}), 90);
    if (check.source == CounterSource::absent) GTEST_SKIP() << check.reason;
  }
};

TEST_F(CountersOffline, TheFiguresOfEveryCallFitIntoOnePass) {
  for (const int arch : {80, 89, 90, 100}) {
    const CounterCheck check = check_counters(with_io_metrics({}), arch);
    EXPECT_EQ(check.source, CounterSource::cupti) << check.reason;
    EXPECT_TRUE(check.unknown.empty()) << arch << ": " << check.unknown.front();
    EXPECT_EQ(check.passes, 1) << arch;
  }
}

TEST_F(CountersOffline, MoreFiguresMayNeedMorePasses) {
  const std::vector<std::string> more{"lts__t_sector_hit_rate.pct"};
  EXPECT_EQ(check_counters(with_io_metrics(more), 90).passes, 2);
}

TEST_F(CountersOffline, AnUnknownMetricIsNamedAndTheOthersStand) {
  const std::vector<std::string> more{"lts__t_sector_hit_rate.pct", "nonsense__x.sum"};
  const CounterCheck check = check_counters(with_io_metrics(more), 90);
  EXPECT_EQ(check.source, CounterSource::cupti) << check.reason;
  EXPECT_EQ(check.unknown, std::vector<std::string>{"nonsense__x.sum"});
  EXPECT_EQ(check.passes, 2);
}

TEST_F(CountersOffline, AChipThatIsNotKnownIsAReason) {
  const CounterCheck check = check_counters(with_io_metrics({}), 42);
  EXPECT_EQ(check.source, CounterSource::unsupported);
  EXPECT_NE(check.reason.find("sm_42"), std::string::npos) << check.reason;
}

TEST(Counters, WithoutADeviceThereIsAReasonAndNothingRuns) {
  bool ran = false;
  const auto run = [&] { ran = true; };
  if (make_cuda_backend()->can_run()) GTEST_SKIP() << "there is a device";
  const CounterReading reading = make_counter_reader(0)->read(with_io_metrics({}), {run, run, run});
  EXPECT_NE(reading.source, CounterSource::cupti);
  EXPECT_FALSE(reading.reason.empty());
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace gla_bench::cuda
