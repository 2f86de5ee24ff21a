#pragma once
// How long a step of a worker may take before it counts as hung: pure functions of numbers.

#include "harness/config/config.hpp"
#include "harness/engine/run.hpp"

namespace gla_bench {

/// How fast the place is that work runs on, to tell what a step should take.
struct WorkRates {
  double copy_gb_per_s = 0;       ///< bytes read plus bytes written, 1e9 a second
  double matrix_tflop_per_s = 0;  ///< 1e12 a second
};

/// The rates that were measured; where one was not (0), a modest one of that kind of place.
WorkRates rates_or_assumed(WorkRates measured, BackendId backend);

/// What a candidate's call has to do at least.
struct StepWork {
  double floor_bytes = 0;  ///< each input read once, each output written once
  double flops = 0;
};

/// Seconds that one call takes at the place's rates, whichever is the longer: bytes or flops.
double ideal_seconds(const StepWork& work, const WorkRates& rates);

/// Seconds after which a step is over its limit.
/// build: policy.build_seconds. reference: policy.reference_seconds. The others run the candidate:
/// least_seconds, plus what the host needs for checking floor_bytes of results, plus `factor` times
/// ideal_seconds(); measure and counters also the seconds that the timing policy grants to both
/// series.
double step_limit(RunStep step, const StepWork& work, const WorkRates& rates,
                  const LimitPolicy& policy, const TimingPolicy& timing);

}  // namespace gla_bench
