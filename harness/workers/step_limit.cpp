#include "harness/workers/step_limit.hpp"

#include <algorithm>

namespace gla_bench {
namespace {

// A tenth of what a slow server's memory and processor, and a small GPU, can do.
constexpr WorkRates assumed_host{2, 0.01};
constexpr WorkRates assumed_device{50, 2};

// Bytes a second that the host takes at least through poisoning, copies back and comparisons.
constexpr double checked_bytes_per_second = 50e6;

// Series of samples that a measurement takes at most: cold and hot.
constexpr double series = 2;

}  // namespace

WorkRates rates_or_assumed(WorkRates measured, BackendId backend) {
  const WorkRates& assumed = backend == BackendId::host ? assumed_host : assumed_device;
  // Written so that NaN is replaced, too.
  if (!(measured.copy_gb_per_s > 0)) measured.copy_gb_per_s = assumed.copy_gb_per_s;
  if (!(measured.matrix_tflop_per_s > 0)) measured.matrix_tflop_per_s = assumed.matrix_tflop_per_s;
  return measured;
}

double ideal_seconds(const StepWork& work, const WorkRates& rates) {
  return std::max(work.floor_bytes / (rates.copy_gb_per_s * 1e9),
                  work.flops / (rates.matrix_tflop_per_s * 1e12));
}

double step_limit(RunStep step, const StepWork& work, const WorkRates& rates,
                  const LimitPolicy& policy, const TimingPolicy& timing) {
  const double candidate = policy.least_seconds + work.floor_bytes / checked_bytes_per_second +
                           policy.factor * ideal_seconds(work, rates);
  switch (step) {
    case RunStep::reference:
      return policy.reference_seconds;
    case RunStep::build:
      return policy.build_seconds;
    case RunStep::verify:
      return candidate;
    case RunStep::measure:
    case RunStep::counters:
      return candidate + series * timing.max_seconds;
  }
  return candidate;
}

}  // namespace gla_bench
