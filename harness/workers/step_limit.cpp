#include "harness/workers/step_limit.hpp"

#include <algorithm>

namespace gla_bench {
namespace {

// The least bytes a second at which the host poisons, copies back and compares.
constexpr double checked_bytes_per_second = 50e6;

// The most series that a measurement takes, each of which ends after its time: cold, hot,
// sustained, and the launches beside other work.
constexpr double series = 4;

// A chunk of a few hundred tokens took up to a minute on a core that others use as well. Threads
// that wait for each other for ever end by themselves, so that a limit is for endless loops alone.
constexpr double emulation_slowness = 20;

}  // namespace

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

LimitPolicy for_emulation(LimitPolicy policy) {
  policy.least_seconds *= emulation_slowness;
  return policy;
}

}  // namespace gla_bench
