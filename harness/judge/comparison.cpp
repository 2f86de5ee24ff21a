#include "harness/judge/comparison.hpp"

#include <algorithm>
#include <functional>
#include <sstream>

#include "core/error.hpp"
#include "harness/judge/rows.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

/// A row whose times are to be judged, and its index among the comparison's rows.
struct TimedRow {
  std::size_t row;
  const Record* base;
  const Record* fresh;

  bool is_unchanged() const {
    return !base->source_hash.empty() && base->source_hash == fresh->source_hash;
  }
};

constexpr const char* only_drift =
    "its sources have not changed, so that this is drift between the runs; rounds (run --against) "
    "would show more";

/// A row whose calls got slower where they follow each other is slower, whatever the cold ones did:
/// what it saves there, it only leaves to be done after the clock.
void judge_sustained(ComparedRow& row, const ChangePolicy& policy, bool significant) {
  if (judge_change(row.sustained->estimate, policy, significant) != Change::slower) return;
  if (row.outcome >= Outcome::regression) return;
  row.verdict = name(Change::slower);
  row.outcome = Outcome::regression;
  row.why = "by the sustained time, " + format_ms(row.sustained->base_ms) + " ms before and " +
            format_ms(row.sustained->fresh_ms) + " ms now";
}

/// The verdicts of rows that only the runs can have changed say nothing of slower or faster.
void judge_times(Comparison& comparison, const std::vector<TimedRow>& timed,
                 const ComparisonPolicy& policy) {
  const auto is_control = [&](const TimedRow& row) {
    return !comparison.paired && row.is_unchanged();
  };
  std::vector<double> p;
  for (const TimedRow& t : timed)
    if (const ComparedRow& row = comparison.rows[t.row]; !is_control(t)) {
      p.push_back(row.estimate->p);
      if (row.sustained) p.push_back(row.sustained->estimate.p);
    }
  const std::vector<bool> significant = holm(p, policy.change.alpha);
  std::size_t judged = 0;
  for (const TimedRow& t : timed) {
    ComparedRow& row = comparison.rows[t.row];
    const bool control = is_control(t);
    const bool holds = control || significant[judged++];
    Change change = judge_change(*row.estimate, policy.change, holds);
    row.why = why_inconclusive(*row.estimate, policy.change, holds);
    if (control && (change == Change::slower || change == Change::faster)) {
      change = Change::inconclusive;
      row.why = only_drift;
    }
    row.verdict = name(change);
    if (change == Change::slower) row.outcome = Outcome::regression;
    if (change == Change::inconclusive) row.outcome = Outcome::inconclusive;
    if (change != Change::inconclusive) row.why.clear();
    if (row.sustained && !control) judge_sustained(row, policy.change, significant[judged++]);
  }
}

void judge_accuracy(ComparedRow& row, const Record& fresh, const AccuracyBaseline& baseline,
                    std::size_t& unknown) {
  const auto losses = accuracy_losses(fresh, baseline, unknown);
  if (losses.empty() || row.outcome == Outcome::wrong) return;
  row.labels.push_back("besides: " + row.verdict);
  row.verdict = "less accurate";
  row.outcome = Outcome::regression;
  row.why = join(losses, "; ");
}

using EstimateTimes = std::function<void(ComparedRow&, const TimedRow&)>;

std::size_t place_of(const Record* record, const Results& results) {
  if (record == nullptr) return 0;
  return place_in_file(results, static_cast<std::size_t>(record - results.records.data()));
}

/// The rows that both have timed are left with an empty verdict.
std::vector<MatchedRow> add_rows(Comparison& comparison, const Results& base, const Results& fresh,
                                 const ComparisonPolicy& policy) {
  std::vector<MatchedRow> listed;
  for (const MatchedRow& matched : match_rows(base, fresh)) {
    auto row = judge_standing(matched, policy, comparison.paired);
    if (!row) {
      ++comparison.refused;
      continue;
    }
    row->file = fresh.file;
    if (!comparison.paired) row->base_place = place_of(matched.base, base);
    row->fresh_place = place_of(matched.fresh, fresh);
    comparison.rows.push_back(std::move(*row));
    listed.push_back(matched);
  }
  return listed;
}

std::vector<TimedRow> timed_rows(const Comparison& comparison,
                                 const std::vector<MatchedRow>& listed) {
  std::vector<TimedRow> timed;
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (comparison.rows[i].verdict.empty()) timed.push_back({i, listed[i].base, listed[i].fresh});
  return timed;
}

/// Judges times, then errors against the base's spread over seeds.
void judge_rows(Comparison& comparison, const Results& base, const std::vector<MatchedRow>& listed,
                const EstimateTimes& estimate, const ComparisonPolicy& policy) {
  const auto timed = timed_rows(comparison, listed);
  for (const TimedRow& row : timed) estimate(comparison.rows[row.row], row);
  judge_times(comparison, timed, policy);
  const AccuracyBaseline baseline = accuracy_baseline(base.records);
  for (std::size_t i = 0; i < listed.size(); ++i)
    if (listed[i].base != nullptr && listed[i].fresh != nullptr)
      judge_accuracy(comparison.rows[i], *listed[i].fresh, baseline, comparison.accuracy_unknown);
}

std::optional<double> clock_of(const Record& record) {
  const auto& timing = record.timing;
  if (!timing || !timing->clock_mhz_before || !timing->clock_mhz_after) return std::nullopt;
  return std::min(*timing->clock_mhz_before, *timing->clock_mhz_after);
}

/// What changed between the runs besides the candidates.
void find_drift(Comparison& comparison, const Results& base, const Results& fresh,
                const std::vector<TimedRow>& timed) {
  std::vector<double> moved;
  for (const TimedRow& row : timed)
    if (row.is_unchanged())
      moved.push_back(apart(row.base->timing->cold.median_ms, row.fresh->timing->cold.median_ms));
  const double rates = apart(fact_number(base.environment, "copy_gb_per_s"),
                             fact_number(fresh.environment, "copy_gb_per_s"));
  const Drift drift = drift_between(moved, timed.size() - moved.size(), rates);
  comparison.drift = drift.most;
  comparison.drift_evidence = drift.evidence;
}

void estimate_unpaired(ComparedRow& row, const TimedRow& timed, double drift,
                       const BootstrapPolicy& policy) {
  const auto before = clock_of(*timed.base), now = clock_of(*timed.fresh);
  if (before && now && apart(*before, *now) > 0.005) {
    drift = std::max(drift, apart(*before, *now));
    std::ostringstream text;
    text << "the clock was " << *before << " MHz, now " << *now << " MHz";
    row.labels.push_back(text.str());
  }
  const Series &base = timed.base->timing->cold, &fresh = timed.fresh->timing->cold;
  row.estimate = unpaired_ratio(base.samples_ms, fresh.samples_ms, drift, policy);
  row.base_ms = base.median_ms;
  row.fresh_ms = fresh.median_ms;
  const auto &base_sustained = timed.base->timing->sustained,
             &fresh_sustained = timed.fresh->timing->sustained;
  if (!base_sustained || !fresh_sustained) return;
  row.sustained = {
      unpaired_ratio(base_sustained->samples_ms, fresh_sustained->samples_ms, drift, policy),
      base_sustained->median_ms, fresh_sustained->median_ms};
}

void estimate_paired(ComparedRow& row, const TimedRow& timed, const BootstrapPolicy& policy) {
  const Against& against = *timed.fresh->against;
  const auto samples = static_cast<std::size_t>(against.samples);
  const auto base = medians_of_rounds(against.base_ms, samples);
  const auto fresh = medians_of_rounds(against.new_ms, samples);
  row.estimate = paired_ratio(base, fresh, policy);
  row.base_ms = median(base);
  row.fresh_ms = median(fresh);
}

/// The other binary's side of a file of rounds.
Results base_of(const Results& rounds) {
  Results base;
  base.file = rounds.file;
  for (const Record& record : rounds.records) {
    if (!record.against) continue;
    Record other;
    other.problem = record.problem;
    other.variant = record.variant;
    other.backend = record.backend;
    other.tile = record.tile;
    other.status = record.against->status;
    other.reason = record.against->reason;
    other.source_hash = record.against->source_hash;
    other.verification = record.against->verification;
    base.records.push_back(std::move(other));
  }
  return base;
}

void refuse_incomparable(const Comparison& comparison) {
  std::vector<std::string> refusals;
  std::string keys;
  for (const Difference& difference : comparison.differences) {
    if (difference.severity != Severity::refuse) continue;
    refusals.push_back(describe(difference));
    keys += (keys.empty() ? "" : ",") + difference.key;
  }
  if (!refusals.empty())
    throw InputError(comparison.fresh + " cannot be held against " + comparison.base + ": " +
                     join(refusals, "; ") + "; --allow " + keys + " compares them nevertheless");
}

}  // namespace

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::passed:
      return "passed";
    case Outcome::inconclusive:
      return "inconclusive";
    case Outcome::regression:
      return "regression";
    case Outcome::wrong:
      break;
  }
  return "wrong";
}

Comparison compare_files(const Results& base, const Results& fresh,
                         const ComparisonPolicy& policy) {
  Comparison comparison;
  comparison.base = base.file;
  comparison.fresh = fresh.file;
  comparison.min_effect = policy.change.min_effect;
  comparison.differences = differences(base.environment, fresh.environment, policy.allowed);
  refuse_incomparable(comparison);
  const auto listed = add_rows(comparison, base, fresh, policy);
  find_drift(comparison, base, fresh, timed_rows(comparison, listed));
  const auto estimate = [&](ComparedRow& row, const TimedRow& timed) {
    estimate_unpaired(row, timed, comparison.drift, policy.bootstrap);
  };
  judge_rows(comparison, base, listed, estimate, policy);
  return comparison;
}

Comparison compare_rounds(const Results& rounds, const ComparisonPolicy& policy) {
  if (!has_rounds(rounds))
    throw InputError(rounds.file +
                     ": holds no interleaved rounds (run --against): give two files to compare");
  Comparison comparison;
  comparison.base = fact_text(rounds.environment, "against");
  comparison.fresh = rounds.file;
  comparison.paired = true;
  comparison.min_effect = policy.change.min_effect;
  const Results base = base_of(rounds);
  const auto listed = add_rows(comparison, base, rounds, policy);
  const auto estimate = [&](ComparedRow& row, const TimedRow& timed) {
    estimate_paired(row, timed, policy.bootstrap);
  };
  judge_rows(comparison, base, listed, estimate, policy);
  return comparison;
}

bool has_rounds(const Results& results) {
  return std::any_of(results.records.begin(), results.records.end(),
                     [](const Record& record) { return record.against.has_value(); });
}

Outcome outcome_of(const Comparison& comparison) {
  Outcome worst = comparison.rows.empty() ? Outcome::inconclusive : Outcome::passed;
  for (const ComparedRow& row : comparison.rows) worst = std::max(worst, row.outcome);
  return worst;
}

}  // namespace gla_bench
