#pragma once
// How long a step of a worker may take before it counts as hung. Pure functions of numbers.

#include "harness/config/config.hpp"
#include "harness/engine/run.hpp"
#include "harness/engine/work_rates.hpp"

namespace gla_bench {

/// The time limit of a step in seconds. build: policy.build_seconds. reference:
/// policy.reference_seconds. The other steps run the candidate. Their limit is least_seconds, plus
/// the time that the host needs to check floor_bytes of results, plus `factor` times
/// ideal_seconds(). For measure and counters the seconds that the timing policy grants to both
/// series are added.
double step_limit(RunStep step, const StepWork& work, const WorkRates& rates,
                  const LimitPolicy& policy, const TimingPolicy& timing);

/// The same policy where kernels are emulated, which takes thousands of times as long as rates say.
LimitPolicy for_emulation(LimitPolicy policy);

}  // namespace gla_bench
