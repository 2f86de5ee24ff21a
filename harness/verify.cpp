#include "harness/verify.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "harness/error.hpp"

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

void add_fault(Verification& verification, const std::string& fault) {
  verification.ok = false;
  if (!verification.fault.empty()) verification.fault += "; ";
  verification.fault += fault;
}

// Why a tensor's outcome is not ok, in the order in which a reader wants to know.
std::string explain(const TensorSpec& spec, const ErrorMetrics& metrics,
                    const TensorVerdict& verdict) {
  if (metrics.unwritten > 0)
    return "'" + spec.name + "': " + std::to_string(metrics.unwritten) + " of " +
           std::to_string(metrics.elements) + " elements unwritten";
  if (metrics.not_finite > 0)
    return "'" + spec.name + "': " + std::to_string(metrics.not_finite) + " of " +
           std::to_string(metrics.elements) + " elements NaN or infinite, unlike the reference";
  const auto above = [&](const char* what, double error, double bound) {
    return "'" + spec.name + "': " + what + " " + number(error) + " above its bound " +
           number(bound);
  };
  if (!(verdict.rel_l2 <= verdict.bound)) return above("rel_l2", verdict.rel_l2, verdict.bound);
  if (!(verdict.worst_chunk_rel_l2 <= verdict.worst_chunk_bound))
    return above("worst chunk rel_l2", verdict.worst_chunk_rel_l2, verdict.worst_chunk_bound);
  return above("max_abs", verdict.max_abs, verdict.max_abs_bound);
}

TensorVerdict judge_tensor(const ErrorMetrics& metrics, const Bounds& bound,
                           const BaselineError& baseline) {
  TensorVerdict verdict;
  verdict.rel_l2 = metrics.rel_l2;
  verdict.max_abs = metrics.max_abs;
  verdict.worst_chunk_rel_l2 = metrics.worst_chunk_rel_l2;
  verdict.bound = bound.rel_l2;
  verdict.worst_chunk_bound = bound.worst_chunk_rel_l2;
  verdict.max_abs_bound = bound.max_abs;
  verdict.baseline_rel_l2 = baseline.rel_l2;
  verdict.worst = metrics.worst;
  verdict.ok = metrics.rel_l2 <= bound.rel_l2 &&
               metrics.worst_chunk_rel_l2 <= bound.worst_chunk_rel_l2 &&
               metrics.max_abs <= bound.max_abs;
  return verdict;
}

TensorVerdict missing_verdict(const Bounds& bound, const BaselineError& baseline) {
  ErrorMetrics metrics;
  metrics.rel_l2 = metrics.max_abs = metrics.worst_chunk_rel_l2 = nan;
  metrics.worst.got = metrics.worst.expected = nan;
  return judge_tensor(metrics, bound, baseline);
}

bool same_bits(const HostTensors& a, const HostTensors& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.size() != values.size()) return false;
    if (std::memcmp(values.data(), other->second.data(), values.size() * sizeof(float)) != 0)
      return false;
  }
  return true;
}

void report_damage(Workset& workset, Plan& plan, Verification& verification) {
  if (const auto damage = workset.damage()) add_fault(verification, *damage);
  if (const auto damage = plan.damage()) add_fault(verification, *damage);
}

}  // namespace

BaselineError baseline_error(const ErrorMetrics& metrics) {
  return {metrics.rel_l2, metrics.worst_chunk_rel_l2, metrics.max_abs, metrics.elements,
          metrics.smallest_chunk};
}

std::string_view name(ReferencePlace place) {
  switch (place) {
    case ReferencePlace::automatic:
      return "auto";
    case ReferencePlace::host:
      return "host";
    case ReferencePlace::device:
      return "device";
  }
  return "?";
}

std::optional<ReferencePlace> parse_reference_place(std::string_view text) {
  for (ReferencePlace place :
       {ReferencePlace::automatic, ReferencePlace::host, ReferencePlace::device})
    if (name(place) == text) return place;
  return std::nullopt;
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

const std::map<std::string, BaselineError>& ProblemTruth::baseline(Arithmetic arithmetic) {
  const auto known = baselines_.find(arithmetic);
  if (known != baselines_.end()) return known->second;
  std::optional<HostTensors> plain;
  if (device_) plain = device_->baseline(*op_, problem_, inputs_, arithmetic);
  if (!plain) plain = op_->baseline(problem_, inputs_, arithmetic);
  std::map<std::string, BaselineError> errors;
  for (const TensorSpec& spec : outputs_)
    errors[spec.name] =
        baseline_error(compare(spec, plain->at(spec.name), expected_.at(spec.name)));
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
    const Bounds bound = bounds(tolerance, arithmetic, spec.dtype, baseline);
    TensorVerdict& verdict = verification.tensors[spec.name];
    const auto found = outputs.find(spec.name);
    if (found == outputs.end() ||
        static_cast<std::int64_t>(found->second.size()) != spec.elements()) {
      verdict = missing_verdict(bound, baseline);
      add_fault(verification, "'" + spec.name + "' is missing or of the wrong size");
      continue;
    }
    const ErrorMetrics metrics = compare(spec, found->second, truth.expected().at(spec.name));
    verdict = judge_tensor(metrics, bound, baseline);
    if (!verdict.ok) add_fault(verification, explain(spec, metrics, verdict));
  }
  return verification;
}

Verification verify_candidate(Workset& workset, Plan& plan, ProblemTruth& truth,
                              Arithmetic arithmetic, const Tolerance& tolerance) {
  const auto run_poisoned = [&] {
    workset.poison_outputs();
    plan.poison_workspace();
    plan.run();
    return workset.download_outputs();
  };
  const HostTensors first = run_poisoned();
  Verification verification = judge(truth, first, arithmetic, tolerance);
  report_damage(workset, plan, verification);
  const HostTensors second = run_poisoned();
  verification.deterministic = same_bits(first, second);
  if (verification.ok && !verification.deterministic) {
    // A repeat with other bits has to be right as well.
    const Verification repeat = judge(truth, second, arithmetic, tolerance);
    if (!repeat.ok) add_fault(verification, "in a repeat: " + repeat.fault);
  }
  if (verification.ok) report_damage(workset, plan, verification);
  return verification;
}

void poison_before_timing(Workset& workset, Plan& plan) {
  workset.poison_outputs();
  plan.poison_workspace();
}

void verify_last_timed(Workset& workset, Plan& plan, ProblemTruth& truth,
                       const Tolerance& tolerance, Verification& verification) {
  Verification last = judge(truth, workset.download_outputs(), verification.arithmetic, tolerance);
  report_damage(workset, plan, last);
  verification.last_timed_ok = last.ok;
  if (!last.ok) add_fault(verification, "after timing: " + last.fault);
}

}  // namespace gla_bench
