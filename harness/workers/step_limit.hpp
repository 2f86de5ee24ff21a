#pragma once
// How long a step of a worker may take before it counts as hung: pure functions of numbers.

#include "harness/config/config.hpp"
#include "harness/engine/run.hpp"
#include "harness/engine/work_rates.hpp"

namespace gla_bench {

/// Seconds after which a step is over its limit.
/// build: policy.build_seconds. reference: policy.reference_seconds. The others run the candidate:
/// least_seconds, plus what the host needs for checking floor_bytes of results, plus `factor` times
/// ideal_seconds(); measure and counters also the seconds that the timing policy grants to both
/// series.
double step_limit(RunStep step, const StepWork& work, const WorkRates& rates,
                  const LimitPolicy& policy, const TimingPolicy& timing);

}  // namespace gla_bench
