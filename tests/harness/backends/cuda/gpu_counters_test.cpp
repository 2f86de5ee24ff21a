// Counters and the energy meter on a device, on a kernel whose bytes are known: y = 2 x.

#include <cmath>
#include <string>
#include <vector>

#include "harness/backends/counters.hpp"
#include "harness/measure/energy.hpp"
#include "tests/harness/backends/cuda/gpu_fixture.hpp"

namespace gla_bench::cuda {
namespace {

class GpuCounters : public GpuFixture {
 protected:
  void prepare() {
    problem_.dtype = DType::float32;
    problem_.shape = {1, 1 << 16, 4, 128, 128};  // 128 MiB: twice the largest cache and more
    variant_ = variant("twice");
    workset_ = backend_->stage(op_, problem_, inputs());
    plan_ = backend_->build({&variant_, problem_, {}});
    plan_->prepare(*workset_);
  }

  double bytes() const { return 4.0 * static_cast<double>(elements(problem_)); }

  static void expect_within(double share, double got, double expected, const char* what) {
    EXPECT_LE(std::abs(got - expected), share * expected) << what << ": " << got;
  }

  Variant variant_;
  std::unique_ptr<Workset> workset_;
  std::unique_ptr<Plan> plan_;
};

TEST_F(GpuCounters, CountWhatACallReadsAndWrites) {
  prepare();
  const CounterReading reading = plan_->count(with_io_metrics({}));
  if (reading.source != CounterSource::cupti) GTEST_SKIP() << reading.reason;
  EXPECT_EQ(reading.passes, 1);
  expect_within(0.02, reading.dram_read_bytes.value(), bytes(), "read");
  expect_within(0.02, reading.dram_write_bytes.value(), bytes(), "written");
  EXPECT_GT(reading.written_back_bytes.value(), 0.01 * bytes())
      << "part of what a call writes is in the cache when it ends";
  expect_within(0.02, requested_bytes(reading).value(), 2 * bytes(), "asked of the cache");
  const std::vector<float> y = workset_->download_outputs().at("y");
  EXPECT_EQ(y[63], 126.0F) << "a counted call computes what any call does";
}

TEST_F(GpuCounters, AMetricThatTheChipLacksIsNamedAndCostsNothing) {
  prepare();
  const std::vector<std::string> more{"nonsense__x.sum", "lts__t_sector_hit_rate.pct"};
  const CounterReading reading = plan_->count(with_io_metrics(more));
  if (reading.source != CounterSource::cupti) GTEST_SKIP() << reading.reason;
  EXPECT_NE(reading.reason.find("nonsense__x.sum"), std::string::npos) << reading.reason;
  EXPECT_TRUE(reading.metrics.contains("lts__t_sector_hit_rate.pct"));
  EXPECT_GT(reading.passes, 1);
  expect_within(0.02, reading.dram_read_bytes.value(), bytes(), "read");
}

TEST_F(GpuCounters, TheEnergyOfACallIsThatOfARunningBoard) {
  prepare();
  plan_->run();
  const double seconds = plan_->sample(CacheState::hot, 10);
  const Energy energy = measure_energy(*plan_, *backend_, seconds, {Which::all, 0.3});
  if (!energy.joules_per_call) GTEST_SKIP() << energy.reason;
  EXPECT_GT(energy.watts, 20) << "less than a board takes when idle";
  EXPECT_LT(energy.watts, 3000);
  EXPECT_GE(energy.window_seconds, 0.2);
}

}  // namespace
}  // namespace gla_bench::cuda
