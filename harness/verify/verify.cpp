#include "harness/verify/verify.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "harness/backends/other_inputs.hpp"
#include "harness/measure/checks.hpp"
#include "harness/verify/allowances.hpp"
#include "harness/verify/host_comparison.hpp"
#include "harness/verify/value_tests.hpp"

namespace gla_bench {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Work above which the device computes the reference: about a second of one host core.
constexpr double large_flops = 4e9;

// Elements of all outputs above which the device compares them: some milliseconds of one host core.
constexpr std::int64_t many_elements = 1 << 18;

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

// Work on the device that the config leaves to the program.
bool may_use(Backend* device, ReferencePlace place) {
  return place != ReferencePlace::host && device != nullptr && device->can_run();
}

template <class Values>
bool has_nan(const Values& values) {
  return std::any_of(values.begin(), values.end(), [](auto value) { return std::isnan(value); });
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

struct Explanation {
  std::string_view check;
  std::string fault;
};

// The share of its bound that a plain computation may use up before a fault says so.
constexpr double most_of_a_bound = 0.8;

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
  if (!(verdict.rel_l2 <= verdict.bound)) {
    Explanation why = above(check::rel_l2, "rel_l2", verdict.rel_l2, verdict.bound);
    // The problem asks for more than this arithmetic has: whoever drew it should know.
    if (!(verdict.baseline_rel_l2 <= most_of_a_bound * verdict.bound))
      why.fault += " (a plain computation has " + number(verdict.baseline_rel_l2) + ")";
    return why;
  }
  if (!(verdict.worst_chunk_rel_l2 <= verdict.worst_chunk_bound))
    return above(check::worst_chunk, "worst chunk rel_l2", verdict.worst_chunk_rel_l2,
                 verdict.worst_chunk_bound);
  return above(check::max_abs, "max_abs", verdict.max_abs, verdict.max_abs_bound);
}

// The tests of an output whose errors are within their bounds. Returns what failed, if anything.
std::optional<Explanation> test_values(const Expected& expected, OutputComparison& comparison,
                                       double sigmas, TensorVerdict& verdict) {
  const TensorSpec& spec = expected.spec;
  const SignedMean mean = signed_mean(spec, comparison, expected.bound, sigmas);
  verdict.signed_mean = mean.value;
  verdict.signed_mean_bound = mean.bound;
  if (!(std::abs(mean.value) <= mean.bound))
    return Explanation{check::signed_mean, "'" + spec.name + "': mean signed error " +
                                               number(mean.value) + " beyond its bound " +
                                               number(mean.bound) +
                                               ", so the errors have a common sign"};
  if (const auto bits = kept_bits(spec, comparison, expected.baseline.coarse))
    return Explanation{check::kept_bits, "'" + spec.name + "': a float32 output of which " +
                                             std::to_string(*bits) +
                                             " bits were kept, where the reference has more"};
  return std::nullopt;
}

// An infinite value is left out: its error is judged by itself, and as the largest value it would
// allow any error elsewhere.
double largest_finite(std::span<const double> values) {
  double largest = 0;
  const auto count = static_cast<std::int64_t>(values.size());
#pragma omp parallel for schedule(static) reduction(max : largest) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i)
    if (std::isfinite(values[i])) largest = std::max(largest, std::abs(values[i]));
  return largest;
}

TensorVerdict missing_verdict(const Expected& expected) {
  ErrorMetrics metrics;
  metrics.rel_l2 = metrics.max_abs = metrics.worst_chunk_rel_l2 = nan;
  metrics.worst.got = metrics.worst.expected = nan;
  return judge_errors(metrics, expected);
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
  result.coarse = coarse_shares(plain);
  if (spec.running_sum && computed.rms > 0)
    result.largest_of_sum = largest_finite(expected) / computed.rms;
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
    : op_(&op),
      problem_(problem),
      inputs_(std::move(inputs)),
      backend_(device),
      device_(device),
      place_(place),
      id_(next_id()) {
  std::int64_t elements = 0;
  const auto sizes =
      op.sum_sizes ? op.sum_sizes(problem, inputs_) : std::map<std::string, double>{};
  for (const TensorSpec& spec : op.tensors(problem)) {
    if (spec.role != TensorSpec::Role::output) continue;
    outputs_.push_back(spec);
    if (const auto size = sizes.find(spec.name); size != sizes.end())
      outputs_.back().sum_size = size->second;
    elements += spec.elements();
  }
  compares_on_device_ = may_use(device, place) && elements >= many_elements;
  const bool wanted = place == ReferencePlace::device ||
                      (place == ReferencePlace::automatic && op.work(problem).flops >= large_flops);
  std::optional<ReferenceTensors> computed;
  if (wanted && may_use(device, place)) computed = device->reference(op, problem, inputs_);
  if (!computed && place == ReferencePlace::device)
    throw InputError("no float64 reference on the device for " + describe(problem));
  if (!computed) device_ = nullptr;
  reference_place_ = device_ ? std::string(name(device_->id())) : "host";
  expected_ = computed ? std::move(*computed) : op.reference(problem, inputs_);
  add_allowances();
  for (const auto& [output, values] : expected_)
    if (unexplained_nan_.empty() && has_nan(values)) unexplained_nan_ = output;
  for (const auto& [input, values] : inputs_)
    if (!unexplained_nan_.empty() && has_nan(values)) unexplained_nan_.clear();
}

void ProblemTruth::add_allowances() {
  if (!op_->cancelling_sizes) return;
  const HostTensors sizes = op_->cancelling_sizes(problem_, inputs_);
  for (const TensorSpec& spec : outputs_) {
    const auto found = sizes.find(spec.name);
    if (found == sizes.end()) continue;
    auto list = gla_bench::allowances(spec, expected_.at(spec.name), found->second,
                                      problem_.shape.value_dim);
    const auto some = [](float allowance) { return allowance > 0; };
    if (std::any_of(list.begin(), list.end(), some)) allowances_[spec.name] = std::move(list);
  }
  if (!allowances_.empty()) compares_on_device_ = false;
}

std::span<const float> ProblemTruth::allowances(const std::string& output) const {
  const auto found = allowances_.find(output);
  if (found == allowances_.end()) return {};
  return found->second;
}

ProblemTruth ProblemTruth::with_inputs(HostTensors inputs) const {
  return {*op_, problem_, std::move(inputs), backend_, place_};
}

ProblemTruth* ProblemTruth::others() {
  if (!others_ && !signed_inputs(*op_, problem_).empty())
    others_ = std::make_unique<ProblemTruth>(
        with_inputs(flipped(*op_, problem_, inputs_, verified_pattern)));
  return others_.get();
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

void add_fault(Verification& verification, std::string_view check, const std::string& fault) {
  verification.ok = false;
  if (verification.check.empty()) verification.check = check;
  if (!verification.fault.empty()) verification.fault += "; ";
  verification.fault += fault;
}

Verification judge(ProblemTruth& truth, const HostTensors& outputs, Arithmetic arithmetic,
                   const Tolerance& tolerance) {
  const auto compare = [&](const TensorSpec& spec,
                           ExpectedValues expected) -> std::unique_ptr<OutputComparison> {
    const auto found = outputs.find(spec.name);
    if (found == outputs.end() ||
        static_cast<std::int64_t>(found->second.size()) != spec.elements())
      return nullptr;
    return std::make_unique<HostComparison>(spec, found->second, expected.values,
                                            truth.allowances(spec.name));
  };
  return judge(truth, compare, arithmetic, tolerance);
}

Verification judge(ProblemTruth& truth, const Compare& compare, Arithmetic arithmetic,
                   const Tolerance& tolerance) {
  Verification verification;
  verification.ok = !truth.outputs().empty();
  verification.arithmetic = arithmetic;
  verification.reference = truth.reference_place();
  if (!truth.unexplained_nan().empty())
    add_fault(verification, check::not_finite,
              "'" + truth.unexplained_nan() + "': the reference is NaN, and no input is");
  for (const TensorSpec& spec : truth.outputs()) {
    const BaselineError& baseline = truth.baseline(arithmetic).at(spec.name);
    const Expected expected{spec, truth.expected().at(spec.name), baseline,
                            bounds(tolerance, arithmetic, spec, baseline)};
    TensorVerdict& verdict = verification.tensors[spec.name];
    const auto comparison = compare(spec, truth.expected_values(spec.name));
    if (!comparison) {
      verdict = missing_verdict(expected);
      add_fault(verification, check::missing_output,
                "'" + spec.name + "' is missing or of the wrong size");
      continue;
    }
    const ErrorMetrics metrics = tensor_errors(spec, *comparison, expected.values);
    verdict = judge_errors(metrics, expected);
    std::optional<Explanation> why;
    if (!verdict.ok)
      why = explain(spec, metrics, verdict);
    else
      why = test_values(expected, *comparison, tolerance.sigmas, verdict);
    if (!why) continue;
    verdict.ok = false;
    add_fault(verification, why->check, why->fault);
  }
  return verification;
}

}  // namespace gla_bench
