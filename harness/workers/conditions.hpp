#pragma once
// Where work is done and by which rules, as the owner of the workers sees it. A run, a search and a
// comparison of two programs use the same.

#include <chrono>
#include <optional>

#include "harness/engine/assignment.hpp"
#include "harness/workers/protocol.hpp"
#include "harness/workers/step_limit.hpp"

namespace gla_bench {

struct WorkConditions {
  Place place;
  WorkSettings settings;  ///< what the workers are told
  WorkRates rates;        ///< for the time limits of steps
  double memory = 0;      ///< bytes that a worker may have resident; 0: no limit
  /// When a run ends even if work is left; nothing: when all is done.
  std::optional<std::chrono::steady_clock::time_point> ends = {};
  bool until_failure = false;  ///< a run ends after the first candidate that fails
};

/// Seconds that a step of this candidate may take; null for a step of the problem as a whole.
inline double step_limit(const WorkConditions& conditions, RunStep step, const Operator& op,
                         const Problem& problem, const Candidate* candidate) {
  const Policy& policy = conditions.settings.policy;
  const StepWork work = candidate == nullptr ? work_of(op, problem) : work_of(op, *candidate);
  return step_limit(step, work, conditions.rates, policy.limits, policy.timing);
}

}  // namespace gla_bench
