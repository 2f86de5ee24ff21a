#include "harness/judge/rows.hpp"

#include <map>

#include "core/error.hpp"

namespace gla_bench {
namespace {

/// Refused tiles are counted, and the tile that represents them may change. So their rows are not
/// matched by tile.
std::map<RecordKey, const Record*> index_of(const Results& results) {
  std::map<RecordKey, const Record*> index;
  for (const Record& record : results.records) {
    if (measured_elsewhere(record) || !was_tried(record)) continue;
    if (!index.emplace(key_of(record), &record).second)
      throw InputError(results.file + ": the row stands there twice: " + describe(key_of(record)));
  }
  return index;
}

bool is_right(const Record& record) {
  return (record.status == Status::measured || record.status == Status::verified) &&
         record.verification && record.verification->ok;
}

ComparedRow row(const Record& record, std::string verdict, Outcome outcome, std::string why = "") {
  ComparedRow result;
  result.subject = describe(key_of(record));
  result.verdict = std::move(verdict);
  result.outcome = outcome;
  result.why = std::move(why);
  return result;
}

ComparedRow judge_new(const Record& fresh) {
  if (is_fault(fresh.status))
    return row(fresh, std::string(name(fresh.status)), Outcome::wrong, fresh.reason);
  return row(fresh, "wrong", Outcome::wrong, "its verification is missing or not ok");
}

ComparedRow judge_missing(const Record& base, const ComparisonPolicy& policy) {
  if (!is_right(base)) return row(base, "gone", Outcome::passed, "and was not right before");
  return row(base, "missing", policy.missing_allowed ? Outcome::passed : Outcome::regression,
             "was " + std::string(name(base.status)) + ", is refused or not there");
}

}  // namespace

bool is_fault(Status status) {
  return status != Status::measured && status != Status::verified && status != Status::rejected &&
         status != Status::built && status != Status::left_out;
}

std::vector<MatchedRow> match_rows(const Results& base, const Results& fresh) {
  auto before = index_of(base);
  index_of(fresh);  // complains of what stands there twice
  std::vector<MatchedRow> rows;
  for (const Record& record : fresh.records) {
    if (measured_elsewhere(record) || !was_tried(record)) continue;
    const auto found = before.find(key_of(record));
    rows.push_back({found == before.end() ? nullptr : found->second, &record});
    if (found != before.end()) before.erase(found);
  }
  for (const Record& record : base.records) {
    const auto left = before.find(key_of(record));
    if (left != before.end() && left->second == &record) rows.push_back({&record, nullptr});
  }
  return rows;
}

std::optional<ComparedRow> judge_standing(const MatchedRow& matched, const ComparisonPolicy& policy,
                                          bool paired) {
  if (matched.fresh == nullptr) return judge_missing(*matched.base, policy);
  const Record& fresh = *matched.fresh;
  const bool had_been_right = matched.base != nullptr && is_right(*matched.base);
  if (fresh.status == Status::built) {
    if (!had_been_right) return std::nullopt;
    return row(fresh, "not run", Outcome::inconclusive, "built, but there was no device");
  }
  if (!is_right(fresh)) return judge_new(fresh);
  if (matched.base == nullptr) return row(fresh, "new", Outcome::passed);
  if (!had_been_right)
    return row(fresh, "mended", Outcome::passed, "was " + std::string(name(matched.base->status)));
  const bool was_timed = paired || matched.base->timing.has_value();
  if (!policy.times || (!was_timed && !fresh.timing))
    return row(fresh, "verified", Outcome::passed);
  if (!was_timed) return row(fresh, "new", Outcome::passed, "was not measured before");
  if (!fresh.timing)
    return row(fresh, "not measured", Outcome::inconclusive, "was measured before");
  return row(fresh, "", Outcome::passed);
}

}  // namespace gla_bench
