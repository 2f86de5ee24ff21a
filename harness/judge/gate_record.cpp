// The verdict on one record.

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/tile_space.hpp"
#include "harness/judge/gate.hpp"
#include "harness/measure/checks.hpp"
#include "harness/measure/counted.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/verify/verifier_hash.hpp"

namespace gla_bench {
namespace {

/// A claim about a number: "o: rel_l2 0.5 is not at most 0.004 (its bound)".
std::string not_at_most(const std::string& what, double value, double limit,
                        const std::string& limit_name) {
  std::ostringstream text;
  text << what << " " << value << " is not at most " << limit << " (" << limit_name << ")";
  return text.str();
}

void judge_tensor(const std::string& tensor, const TensorVerdict& v, const Record& record,
                  DType output, const GatePolicy& policy, std::vector<std::string>& failures) {
  const Tolerance& tolerance = policy.tolerance;
  const double highest = cap(tolerance, record.verification->arithmetic, output);
  const auto at_most = [&](const std::string& what, double value, double limit,
                           const std::string& limit_name) {
    if (!(value <= limit))
      failures.push_back(not_at_most(tensor + ": " + what, value, limit, limit_name));
  };
  // An error within its bound, and either that bound within its cap or the error itself.
  const auto held = [&](const std::string& what, double error, double bound,
                        const std::string& bound_name, double most) {
    at_most(what, error, bound, "its bound");
    if (policy.caps_for_errors)
      at_most(what, error, most, "the cap");
    else
      at_most(bound_name, bound, most, "the cap");
  };
  if (!v.ok) failures.push_back(tensor + ": not ok");
  held("rel_l2", v.rel_l2, v.bound, "bound", highest);
  if (!(v.bound > 0)) failures.push_back(tensor + ": its bound is not positive");
  if (!(v.rel_l2 >= 0)) failures.push_back(tensor + ": rel_l2 is no error");
  if (measured_elsewhere(record)) {  // others judge the whole tensor only, but report the rest
    at_most("max_abs", v.max_abs, highest * tolerance.max_abs, "the cap");
    return;
  }
  held("worst_chunk_rel_l2", v.worst_chunk_rel_l2, v.worst_chunk_bound, "worst_chunk_bound",
       highest * tolerance.worst_chunk);
  held("max_abs", v.max_abs, v.max_abs_bound, "max_abs_bound", highest * tolerance.max_abs);
}

void judge_verification(const Record& record, const GatePolicy& policy,
                        std::vector<std::string>& failures) {
  if (!record.verification) {
    failures.push_back("no verification");
    return;
  }
  const Verification& verification = *record.verification;
  if (!verification.ok)
    failures.push_back("verification not ok" +
                       (verification.fault.empty() ? "" : ": " + verification.fault));
  if (verification.last_timed_ok == false)
    failures.push_back("the last timed launch gave a wrong result");
  if (record.status == Status::measured && !measured_elsewhere(record) &&
      !verification.last_timed_ok)
    failures.push_back("the last timed launch was not verified");
  if (verification.tensors.empty()) failures.push_back("no output was verified");
  const Operator* op = policy.catalog.find_operator(record.problem.op);
  if (op == nullptr) {
    failures.push_back("unknown operator \"" + record.problem.op + "\"");
    return;
  }
  for (const TensorSpec& spec : op->tensors(record.problem)) {
    if (spec.role != TensorSpec::Role::output) continue;
    const auto found = verification.tensors.find(spec.name);
    if (found == verification.tensors.end())
      failures.push_back(spec.name + ": not verified");
    else
      judge_tensor(spec.name, found->second, record, spec.dtype, policy, failures);
  }
}

void judge_series(const std::string& which, const Series& series,
                  std::vector<std::string>& failures) {
  if (series.samples_ms.empty()) {
    failures.push_back(which + ": no samples");
    return;
  }
  for (const double sample : series.samples_ms)
    if (!(sample > 0) || !std::isfinite(sample)) {
      failures.push_back(which + ": a sample is not a positive time");
      return;
    }
  const auto follows = [](double value, double expected) {
    return std::abs(value - expected) <= 1e-6 * expected + 1e-9;
  };
  if (!follows(series.median_ms, quantile(series.samples_ms, 0.5)) ||
      !follows(series.min_ms, quantile(series.samples_ms, 0)) ||
      !follows(series.p20_ms, quantile(series.samples_ms, 0.2)) ||
      !follows(series.p80_ms, quantile(series.samples_ms, 0.8)))
    failures.push_back(which + ": median, min, p20 or p80 do not follow from the samples");
}

void judge_timing(const Record& record, const Policy& asked, Verdict& verdict) {
  if (!record.timing) {
    if (record.status == Status::measured) verdict.failures.push_back("measured without a time");
    return;
  }
  judge_series("cold", record.timing->cold, verdict.failures);
  if (record.timing->hot) judge_series("hot", *record.timing->hot, verdict.failures);
  if (record.timing->sustained)
    judge_series("sustained", *record.timing->sustained, verdict.failures);
  if (!record.timing->suspect) return;
  const auto& allowed = asked.allow_suspect;
  const bool passes =  // another project's code cannot be fixed here
      record.peer || std::find(allowed.begin(), allowed.end(), record.variant) != allowed.end();
  const std::string& seen_by = record.timing->suspect_check;
  (passes ? verdict.warnings : verdict.failures)
      .push_back(seen_by == check::wall_clock ? "suspect: the wall clock contradicts the timer"
                 : seen_by == check::clocks
                     ? "suspect: the host's clock and the processor's counter differ"
                 : seen_by == check::unseen_inputs
                     ? "suspect: much slower with inputs that no call had before"
                     : "suspect: faster than the floor allows at the measured copy rate");
}

/// What was counted has to agree with the work, whatever the outputs look like.
void judge_counts(const Record& record, const GatePolicy& policy, Verdict& verdict) {
  const Operator* op = policy.catalog.find_operator(record.problem.op);
  if (op == nullptr || measured_elsewhere(record)) return;
  if (const auto fault = counted_fault(*op, record)) verdict.failures.push_back(fault->text);
}

/// Checks that the record belongs to the sources, the verification and the arithmetic of this
/// program.
void judge_freshness(const Record& record, const GatePolicy& policy, Verdict& verdict) {
  auto& stale = policy.require_fresh ? verdict.failures : verdict.warnings;
  const Variant* variant = policy.catalog.find_variant(record.problem.op, record.variant,
                                                       record.backend, record.problem.direction);
  if (variant == nullptr) {
    stale.push_back("stale: there is no such variant any more");
    return;
  }
  if (policy.source_hash(*variant) != record.source_hash) {
    stale.push_back("stale: its sources have changed since");
    return;
  }
  const std::string verifier =
      policy.verifier_hash ? policy.verifier_hash(record.backend, record.problem.op) : "";
  switch (match_verifier(record.verifier_hash, verifier)) {
    case VerifierMatch::other_verification:
      stale.push_back(std::string("stale: what verifies it has changed since") +
                      (record.timing ? " (`renew` may keep its time)" : ""));
      break;
    case VerifierMatch::other_compiler:
      stale.push_back("stale: its compiler or the compiler's options have changed since");
      break;
    case VerifierMatch::same:
    case VerifierMatch::unknown:
      break;
  }
  if (!in_space(record.tile, variant->space)) {
    verdict.failures.push_back("its tile is not in the variant's space");
    return;
  }
  const Arithmetic declared = variant->arithmetic(record.problem, record.tile);
  if (record.verification && record.verification->arithmetic != declared)
    verdict.failures.push_back("judged as " + std::string(name(record.verification->arithmetic)) +
                               ", but the variant declares " + std::string(name(declared)));
}

}  // namespace

Verdict judge_record(const Record& record, const std::string& file, const GatePolicy& policy,
                     const Policy& asked) {
  Verdict verdict;
  verdict.file = file;
  verdict.subject = describe(key_of(record));
  verdict.seconds = record.seconds;
  switch (record.status) {
    case Status::wrong:
    case Status::build_failed:
    case Status::run_failed:
    case Status::crashed:
    case Status::timeout:
      // A fault in another project's code is worth a line, but cannot be fixed here.
      (record.peer ? verdict.warnings : verdict.failures)
          .push_back(std::string(name(record.status)) + ": " +
                     (record.reason.empty() ? "no reason given" : record.reason));
      break;
    case Status::rejected:
      verdict.skipped = record.reason;
      if (record.reason.empty()) verdict.failures.push_back("rejected without a reason");
      break;
    case Status::left_out:
      verdict.skipped = record.reason;
      if (record.reason.empty()) verdict.failures.push_back("left out without a reason");
      break;
    case Status::built:
      verdict.skipped = "built, but there was no device to run it";
      break;
    case Status::measured:
    case Status::verified:
      judge_verification(record, policy, verdict.failures);
      judge_timing(record, asked, verdict);
      judge_counts(record, policy, verdict);
      if (!measured_elsewhere(record)) judge_freshness(record, policy, verdict);
      break;
  }
  return verdict;
}

}  // namespace gla_bench
