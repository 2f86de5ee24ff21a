#pragma once
// Looks at what further launches leave, after a candidate was found right: while it is timed, and
// beside other work.

#include <cstdint>
#include <memory>

#include "harness/measure/measure.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {

/// What is looked at, and by which rule.
struct Looked {
  Workset& workset;
  Plan& plan;
  ProblemTruth& truth;
  const Tolerance& tolerance;
  const VerifyOptions& options;
};

/// Hooks for measure(). Before each cold sample the outputs are poisoned. Of eight samples in a
/// row, two have the other inputs (ProblemTruth::others) and two have inputs that no call had
/// before; the seed decides which. Afterwards the inputs are restored and the outputs are compared,
/// by their fingerprints, with those that were found right. What differs is judged like a repeat.
/// Of a candidate that may differ, only as much is judged as a second of time allows. For inputs
/// without a reference it is seen only whether every element was written. The counts, and a fault
/// if there is one, are added to `verification`, which has to outlive the hooks.
SampleHooks look_at_samples(const Looked& looked, std::uint64_t seed, Verification& verification);

/// Launches the candidate up to so many times, each with poisoned outputs and workspace, beside
/// other work (Backend::beside_load), and looks at what each launch leaves. It ends early after
/// some seconds, and at the first wrong launch. @throws RunError
void verify_beside_load(const Looked& looked, Backend& backend, int launches, double seconds,
                        Verification& verification);

/// Looks at what the last call on each of several worksets left, and at damage to them. Outputs of
/// a problem that updates an input in place are not looked at, since each call continued from the
/// result of an earlier one.
void look_at_copies(const Looked& looked, std::span<Workset* const> worksets,
                    Verification& verification);

}  // namespace gla_bench
