#include "harness/verify/verify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "harness/backends/other_inputs.hpp"
#include "harness/measure/checks.hpp"
#include "harness/verify/value_tests.hpp"

namespace gla_bench {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Work above which the device computes the reference: about a second of one host core.
constexpr double large_flops = 4e9;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

void add_fault(Verification& verification, std::string_view check, const std::string& fault) {
  verification.ok = false;
  if (verification.check.empty()) verification.check = check;
  if (!verification.fault.empty()) verification.fault += "; ";
  verification.fault += fault;
}

struct Explanation {
  std::string_view check;
  std::string fault;
};

// What is known of one output before it is judged.
struct Expected {
  const TensorSpec& spec;
  const std::vector<double>& values;
  const BaselineError& baseline;
  Bounds bound;
};

TensorVerdict judge_errors(const ErrorMetrics& metrics, const Expected& expected) {
  TensorVerdict verdict;
  verdict.rel_l2 = metrics.rel_l2;
  verdict.max_abs = metrics.max_abs;
  verdict.worst_chunk_rel_l2 = metrics.worst_chunk_rel_l2;
  verdict.bound = expected.bound.rel_l2;
  verdict.worst_chunk_bound = expected.bound.worst_chunk_rel_l2;
  verdict.max_abs_bound = expected.bound.max_abs;
  verdict.baseline_rel_l2 = expected.baseline.stored.rel_l2;
  verdict.worst = metrics.worst;
  verdict.ok = metrics.rel_l2 <= verdict.bound &&
               metrics.worst_chunk_rel_l2 <= verdict.worst_chunk_bound &&
               metrics.max_abs <= verdict.max_abs_bound;
  return verdict;
}

// Why the errors of a tensor are not within their bounds, the most useful reason first.
Explanation explain(const TensorSpec& spec, const ErrorMetrics& metrics,
                    const TensorVerdict& verdict) {
  if (metrics.unwritten > 0)
    return {check::unwritten, "'" + spec.name + "': " + std::to_string(metrics.unwritten) + " of " +
                                  std::to_string(metrics.elements) + " elements unwritten"};
  if (metrics.not_finite > 0)
    return {check::not_finite, "'" + spec.name + "': " + std::to_string(metrics.not_finite) +
                                   " of " + std::to_string(metrics.elements) +
                                   " elements NaN or infinite, unlike the reference"};
  const auto above = [&](std::string_view name, const char* what, double error, double bound) {
    return Explanation{name, "'" + spec.name + "': " + what + " " + number(error) +
                                 " above its bound " + number(bound)};
  };
  if (!(verdict.rel_l2 <= verdict.bound))
    return above(check::rel_l2, "rel_l2", verdict.rel_l2, verdict.bound);
  if (!(verdict.worst_chunk_rel_l2 <= verdict.worst_chunk_bound))
    return above(check::worst_chunk, "worst chunk rel_l2", verdict.worst_chunk_rel_l2,
                 verdict.worst_chunk_bound);
  return above(check::max_abs, "max_abs", verdict.max_abs, verdict.max_abs_bound);
}

// The tests of an output whose errors are within their bounds. Returns what failed, if anything.
std::optional<Explanation> test_values(const Expected& expected, std::span<const float> got,
                                       double sigmas, TensorVerdict& verdict) {
  const TensorSpec& spec = expected.spec;
  const SignedMean mean = signed_mean(spec, got, expected.values, expected.bound, sigmas);
  verdict.signed_mean = mean.value;
  verdict.signed_mean_bound = mean.bound;
  if (!(std::abs(mean.value) <= mean.bound))
    return Explanation{check::signed_mean, "'" + spec.name + "': mean signed error " +
                                               number(mean.value) + " beyond its bound " +
                                               number(mean.bound) +
                                               ", so the errors have a common sign"};
  if (const auto bits = kept_bits(spec, got, expected.values))
    return Explanation{check::kept_bits, "'" + spec.name + "': a float32 output of which " +
                                             std::to_string(*bits) +
                                             " bits were kept, where the reference has more"};
  return std::nullopt;
}

TensorVerdict missing_verdict(const Expected& expected) {
  ErrorMetrics metrics;
  metrics.rel_l2 = metrics.max_abs = metrics.worst_chunk_rel_l2 = nan;
  metrics.worst.got = metrics.worst.expected = nan;
  return judge_errors(metrics, expected);
}

void report_damage(Workset& workset, Plan& plan, Verification& verification) {
  for (const auto& damage : {workset.damage(), plan.damage()})
    if (damage)
      add_fault(verification,
                damage->starts_with("guard zone") ? check::guard_zone : check::input_changed,
                *damage);
}

// Outputs that have the same bits for other inputs are right only where the reference says so:
// a problem of one token may not depend on the sign of anything.
bool answers_other_inputs(ProblemTruth& truth, const HostTensors& outputs, Arithmetic arithmetic,
                          const Tolerance& tolerance) {
  const auto specs = truth.op().tensors(truth.problem());
  ProblemTruth others = truth.with_inputs(negated(specs, truth.inputs()));
  return judge(others, outputs, arithmetic, tolerance).ok;
}

// The outputs on the backend and their fingerprint. They are downloaded and compared as a whole
// unless outputs with the same bits already were, for whichever candidate.
Verification judge_outputs(Workset& workset, ProblemTruth& truth, std::uint64_t fingerprint,
                           Arithmetic arithmetic, const Tolerance& tolerance) {
  if (const Verification* known = truth.known_right(arithmetic, fingerprint)) return *known;
  Verification verification = judge(truth, workset.download_outputs(), arithmetic, tolerance);
  verification.fingerprint = fingerprint;
  truth.remember(verification);
  return verification;
}

// What a call leaves for the negated inputs.
struct OtherInputs {
  bool poison_left = false;
  bool cached = false;  // the bits of an earlier call, and wrong
};

// Returns nothing where the inputs cannot be negated. The inputs are restored afterwards.
OtherInputs call_with_other_inputs(Workset& workset, Plan& plan, ProblemTruth& truth,
                                   const Verification& verification, const Tolerance& tolerance,
                                   const std::function<void()>& call) {
  OtherInputs seen;
  if (!workset.negate_inputs()) return seen;
  poison_before_timing(workset, plan);
  call();
  seen.poison_left = workset.poison_left();
  seen.cached =
      verification.fingerprint == workset.outputs_fingerprint() &&
      !answers_other_inputs(truth, workset.download_outputs(), verification.arithmetic, tolerance);
  workset.negate_inputs();
  return seen;
}

// Takes one more sample, with poisoned outputs and other inputs. It finds a candidate that stopped
// writing, or computing, while it was timed.
void check_one_more(Workset& workset, Plan& plan, ProblemTruth& truth, const Tolerance& tolerance,
                    Verification& verification) {
  const OtherInputs others = call_with_other_inputs(workset, plan, truth, verification, tolerance,
                                                    [&] { plan.sample(CacheState::cold, 1); });
  if (others.poison_left) {  // or a NaN that looks like it, of inputs nobody promised to compute
    poison_before_timing(workset, plan);
    plan.sample(CacheState::cold, 1);
    const Verification again =
        judge(truth, workset.download_outputs(), verification.arithmetic, tolerance);
    if (!again.ok) add_fault(verification, check::last_timed, "in one more sample: " + again.fault);
  }
  if (verification.ok && others.cached)
    add_fault(verification, check::other_inputs,
              "for other inputs: the outputs of the earlier calls, bit for bit");
}

}  // namespace

BaselineError baseline_error(const TensorSpec& spec, std::vector<float> plain,
                             std::span<const double> expected) {
  const auto errors = [](const ErrorMetrics& metrics) {
    return OutputErrors{metrics.rel_l2, metrics.worst_chunk_rel_l2, metrics.max_abs};
  };
  const ErrorMetrics computed = tensor_errors(spec, plain, expected);
  BaselineError result;
  result.computed = result.stored = errors(computed);
  result.elements = computed.elements;
  result.smallest_chunk = computed.smallest_chunk;
  result.signs = signed_means(spec, DType::float32, plain, expected);
  if (spec.dtype == DType::float32) return result;
  const auto count = static_cast<std::int64_t>(plain.size());
#pragma omp parallel for schedule(static) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i) plain[i] = round_to(spec.dtype, plain[i]);
  result.stored = errors(tensor_errors(spec, plain, expected));
#pragma omp parallel for schedule(static) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i) plain[i] = round_to(spec.dtype, expected[i]);
  result.rounding = errors(tensor_errors(spec, plain, expected));
  return result;
}

ProblemTruth::ProblemTruth(const Operator& op, const Problem& problem, HostTensors inputs,
                           Backend* device, ReferencePlace place)
    : op_(&op), problem_(problem), inputs_(std::move(inputs)), device_(device) {
  for (const TensorSpec& spec : op.tensors(problem))
    if (spec.role == TensorSpec::Role::output) outputs_.push_back(spec);
  const bool wanted = place == ReferencePlace::device ||
                      (place == ReferencePlace::automatic && op.work(problem).flops >= large_flops);
  std::optional<ReferenceTensors> computed;
  if (wanted && device && device->can_run()) computed = device->reference(op, problem, inputs_);
  if (!computed && place == ReferencePlace::device)
    throw InputError("no float64 reference on the device for " + describe(problem));
  if (!computed) device_ = nullptr;
  reference_place_ = device_ ? std::string(name(device_->id())) : "host";
  expected_ = computed ? std::move(*computed) : op.reference(problem, inputs_);
}

ProblemTruth ProblemTruth::with_inputs(HostTensors inputs) const {
  return {*op_, problem_, std::move(inputs), device_,
          device_ ? ReferencePlace::device : ReferencePlace::host};
}

const std::map<std::string, BaselineError>& ProblemTruth::baseline(Arithmetic arithmetic) {
  const auto known = baselines_.find(arithmetic);
  if (known != baselines_.end()) return known->second;
  std::optional<HostTensors> plain;
  if (device_) plain = device_->baseline(*op_, problem_, inputs_, arithmetic);
  if (!plain) plain = op_->baseline(problem_, inputs_, arithmetic);
  std::map<std::string, BaselineError> errors;
  for (const TensorSpec& spec : outputs_)
    errors[spec.name] =
        baseline_error(spec, std::move(plain->at(spec.name)), expected_.at(spec.name));
  return baselines_[arithmetic] = std::move(errors);
}

Verification judge(ProblemTruth& truth, const HostTensors& outputs, Arithmetic arithmetic,
                   const Tolerance& tolerance) {
  Verification verification;
  verification.ok = !truth.outputs().empty();
  verification.arithmetic = arithmetic;
  verification.reference = truth.reference_place();
  for (const TensorSpec& spec : truth.outputs()) {
    const BaselineError& baseline = truth.baseline(arithmetic).at(spec.name);
    const Expected expected{
        spec, truth.expected().at(spec.name), baseline,
        bounds(tolerance, arithmetic, spec.dtype, spec.rounded_factors, baseline)};
    TensorVerdict& verdict = verification.tensors[spec.name];
    const auto found = outputs.find(spec.name);
    if (found == outputs.end() ||
        static_cast<std::int64_t>(found->second.size()) != spec.elements()) {
      verdict = missing_verdict(expected);
      add_fault(verification, check::missing_output,
                "'" + spec.name + "' is missing or of the wrong size");
      continue;
    }
    const ErrorMetrics metrics = tensor_errors(spec, found->second, expected.values);
    verdict = judge_errors(metrics, expected);
    std::optional<Explanation> why;
    if (!verdict.ok)
      why = explain(spec, metrics, verdict);
    else
      why = test_values(expected, found->second, tolerance.sigmas, verdict);
    if (!why) continue;
    verdict.ok = false;
    add_fault(verification, why->check, why->fault);
  }
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
  const std::uint64_t first = run_poisoned();
  Verification verification = judge_outputs(workset, truth, first, arithmetic, tolerance);
  report_damage(workset, plan, verification);
  if (!verification.ok && options.wrong) options.wrong(workset.download_outputs());
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
    if (!verification.ok && options.wrong) options.wrong(workset.download_outputs());
  }
  if (!verification.ok) return verification;
  report_damage(workset, plan, verification);
  if (!verification.ok) return verification;
  if (call_with_other_inputs(workset, plan, truth, verification, tolerance, [&] {
        plan.run();
      }).cached)
    add_fault(verification, check::other_inputs,
              "for other inputs: the outputs of the earlier call, bit for bit");
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
  if (!last.ok && options.wrong) options.wrong(workset.download_outputs());
  if (last.ok) check_one_more(workset, plan, truth, tolerance, last);
  verification.last_timed_ok = last.ok;
  if (!last.ok) add_fault(verification, last.check, "after timing: " + last.fault);
}

}  // namespace gla_bench
