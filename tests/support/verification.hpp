#pragma once
// A candidate through a real backend and the real verification.

#include "harness/verify/verify.hpp"

namespace gla_bench {

/// @throws what Backend::stage(), Backend::build() and verify_candidate() throw
inline Verification verify_on(Backend& backend, ProblemTruth& truth, const Candidate& candidate) {
  const auto workset = backend.stage(truth.op(), candidate.problem, truth.inputs());
  const auto plan = backend.build(candidate);
  plan->prepare(*workset);
  return verify_candidate(*workset, *plan, truth,
                          candidate.variant->arithmetic(candidate.problem, candidate.tile),
                          default_tolerance(), {.reproducible = candidate.variant->reproducible});
}

}  // namespace gla_bench
