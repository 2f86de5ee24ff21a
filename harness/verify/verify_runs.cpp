// The launches of a verification: what is run, on which inputs, and what is looked at.

#include <algorithm>
#include <utility>

#include "harness/backends/other_inputs.hpp"
#include "harness/measure/checks.hpp"
#include "harness/verify/chunks.hpp"
#include "harness/verify/judged.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {
namespace {

void report_damage(Workset& workset, Plan& plan, Verification& verification) {
  for (const auto& damage : {workset.damage(), plan.damage()})
    if (damage)
      add_fault(verification,
                damage->starts_with("guard zone") ? check::guard_zone : check::input_changed,
                *damage);
}

// What sees a wrong result for other inputs, unless it is the result for the first ones.
struct Reason {
  std::string_view check;
  std::string where;
};

bool within(const OutputErrors& errors, double times, const OutputErrors& bound) {
  return times * errors.rel_l2 <= bound.rel_l2 && times * errors.max_abs <= bound.max_abs &&
         times * errors.worst_chunk_rel_l2 <= bound.worst_chunk_rel_l2;
}

// Whether the plain computation, stored as the outputs are, is within the candidates' bounds. Where
// nothing but float32's roundings counts, it may use half of them before it is stored: they may be
// amplified so much that a right candidate, whose roundings fall otherwise, has twice the error.
bool plain_is_right(ProblemTruth& truth, Arithmetic arithmetic, const Tolerance& tolerance) {
  const auto& baselines = truth.baseline(arithmetic);
  return std::all_of(truth.outputs().begin(), truth.outputs().end(), [&](const TensorSpec& spec) {
    const BaselineError& plain = baselines.at(spec.name);
    const Bounds bound = bounds(tolerance, arithmetic, spec, plain);
    return within(plain.stored, 1, bound) &&
           (!bound.as_float32 || within(plain.computed, 2, bound));
  });
}

// Makes a call with the other inputs and judges what it leaves. The inputs are restored afterwards.
// Does nothing where the problem has no other inputs.
void check_other_inputs(Workset& workset, Plan& plan, ProblemTruth& truth,
                        const Tolerance& tolerance, Verification& verification,
                        const VerifyOptions& options, const Reason& reason,
                        const std::function<void()>& call) {
  ProblemTruth* others = truth.others();
  if (others == nullptr) return;
  const FlippedSigns flipped(workset, verified_pattern);
  if (!flipped.any()) return;
  poison_before_timing(workset, plan);
  call();
  const std::uint64_t fingerprint = workset.outputs_fingerprint();
  const Verification judged =
      judge_outputs(workset, *others, fingerprint, verification.arithmetic, tolerance);
  verification.other_fingerprint = fingerprint;
  if (judged.ok) return;
  // Flipped signs may cancel what the given inputs do not (one token of 1 and 1). Where even the
  // plain computation misses its bounds, only answers of an earlier call are seen.
  const bool judgeable = plain_is_right(*others, verification.arithmetic, tolerance);
  if (fingerprint == verification.fingerprint)
    add_fault(verification, check::other_inputs,
              "for other inputs: the outputs of an earlier call, bit for bit");
  else if (judgeable)
    add_fault(verification, reason.check, reason.where + judged.fault);
  else
    return;
  if (options.wrong) options.wrong(*others, workset.download_outputs());
}

// Takes one more sample, with poisoned outputs and other inputs. It finds a candidate that stopped
// writing, or computing, while it was timed.
void check_one_more(Workset& workset, Plan& plan, ProblemTruth& truth, const Tolerance& tolerance,
                    Verification& verification, const VerifyOptions& options) {
  const auto sample = [&] { plan.sample(CacheState::cold, 1); };
  const Reason reason{check::last_timed, "in one more sample: "};
  if (truth.others() != nullptr) {
    check_other_inputs(workset, plan, truth, tolerance, verification, options, reason, sample);
    return;
  }
  poison_before_timing(workset, plan);
  sample();
  const Verification again = judge_outputs(workset, truth, workset.outputs_fingerprint(),
                                           verification.arithmetic, tolerance);
  if (!again.ok) add_fault(verification, reason.check, reason.where + again.fault);
}

}  // namespace

Verification judge_outputs(Workset& workset, ProblemTruth& truth, std::uint64_t fingerprint,
                           Arithmetic arithmetic, const Tolerance& tolerance) {
  if (const Verification* known = truth.known_right(arithmetic, fingerprint)) return *known;
  bool on_device = truth.compares_on_device();
  Verification verification;
  if (on_device) {
    const auto compare = [&](const TensorSpec& spec, ExpectedValues expected) {
      auto comparison = workset.compare(spec, chunks_of(spec), expected);
      on_device = on_device && comparison;
      return comparison;
    };
    verification = judge(truth, compare, arithmetic, tolerance);
  }
  // The backend has none of this, or no memory for it.
  if (!on_device) verification = judge(truth, workset.download_outputs(), arithmetic, tolerance);
  verification.compared = on_device ? "cuda" : "host";
  verification.fingerprint = fingerprint;
  truth.remember(verification);
  return verification;
}

Verification verify_candidate(Workset& workset, Plan& plan, ProblemTruth& truth,
                              Arithmetic arithmetic, const Tolerance& tolerance,
                              const VerifyOptions& options) {
  const auto run_poisoned = [&] {
    poison_before_timing(workset, plan);
    plan.run();
    return workset.outputs_fingerprint();
  };
  const auto tell = [&] {
    if (options.wrong) options.wrong(truth, workset.download_outputs());
  };
  const std::uint64_t first = run_poisoned();
  Verification verification = judge_outputs(workset, truth, first, arithmetic, tolerance);
  report_damage(workset, plan, verification);
  if (!verification.ok) tell();
  const std::uint64_t second = run_poisoned();
  verification.deterministic = second == first;
  if (verification.ok && !verification.deterministic) {
    // A repeat with other bits has to be right as well.
    const Verification repeat = judge_outputs(workset, truth, second, arithmetic, tolerance);
    if (!repeat.ok)
      add_fault(verification, check::repeat, "in a repeat: " + repeat.fault);
    else if (options.reproducible)
      add_fault(verification, check::repeat,
                "in a repeat: other bits, which this variant says there never are");
    if (!verification.ok) tell();
  }
  if (!verification.ok) return verification;
  report_damage(workset, plan, verification);
  if (!verification.ok) return verification;
  check_other_inputs(workset, plan, truth, tolerance, verification, options,
                     {check::other_inputs, "for other inputs: "}, [&] { plan.run(); });
  report_damage(workset, plan, verification);
  return verification;
}

void poison_before_timing(Workset& workset, Plan& plan) {
  workset.poison_outputs();
  plan.poison_workspace();
}

void verify_last_timed(Workset& workset, Plan& plan, ProblemTruth& truth,
                       const Tolerance& tolerance, Verification& verification,
                       const VerifyOptions& options) {
  Verification last = judge_outputs(workset, truth, workset.outputs_fingerprint(),
                                    verification.arithmetic, tolerance);
  if (!last.ok) last.check = check::last_timed;
  report_damage(workset, plan, last);
  if (!last.ok && options.wrong) options.wrong(truth, workset.download_outputs());
  if (last.ok) check_one_more(workset, plan, truth, tolerance, last, options);
  verification.last_timed_ok = last.ok;
  if (!last.ok) add_fault(verification, last.check, "after timing: " + last.fault);
}

}  // namespace gla_bench
