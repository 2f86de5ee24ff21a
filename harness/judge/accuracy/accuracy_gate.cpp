#include "harness/judge/accuracy/accuracy_gate.hpp"

#include <map>
#include <set>

#include "core/error.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {

namespace {

/// Whatever the seed.
RecordKey candidate_of(const AccuracyKey& key) {
  return {key.problem, key.variant, key.backend, key.tile};
}

/// The baseline holds candidates without a seed.
std::string subject_of(const RecordKey& candidate) {
  std::string text = "accuracy of " + describe(candidate);
  constexpr std::string_view no_seed = " seed=0";
  if (const auto at = text.find(no_seed); at != std::string::npos) text.erase(at, no_seed.size());
  return text;
}

/// The outputs of each candidate that the baseline has and `seen` lacks.
std::map<RecordKey, std::set<std::string>> missing_outputs(const AccuracyBaseline& baseline,
                                                           const std::set<AccuracyKey>& seen) {
  std::map<RecordKey, std::set<std::string>> missing;
  for (const auto& [key, spread] : baseline)
    if (!seen.contains(key)) missing[candidate_of(key)].insert(key.tensor);
  return missing;
}

void judge_missing(const std::string& file, const AccuracyBaseline& baseline,
                   const std::set<AccuracyKey>& seen, bool allowed,
                   std::vector<Verdict>& verdicts) {
  for (const auto& [candidate, outputs] : missing_outputs(baseline, seen)) {
    Verdict verdict{file, subject_of(candidate), {}, {}, ""};
    (allowed ? verdict.warnings : verdict.failures)
        .push_back("missing: the baseline has its errors (" +
                   join({outputs.begin(), outputs.end()}) +
                   "), and there is no verified record of it; where it is no longer asked for, " +
                   "write the baseline anew or say --allow-missing");
    verdicts.push_back(std::move(verdict));
  }
}

}  // namespace

std::vector<Verdict> accuracy_verdicts(std::span<const Results> files,
                                       const AccuracyBaseline& baseline, bool missing_allowed) {
  std::vector<Verdict> verdicts;
  std::set<AccuracyKey> seen;
  for (const Results& results : files) {
    std::size_t unknown = 0;
    std::set<RecordKey> fresh;
    for (const Record& record : results.records) {
      const std::vector<AccuracyKey> errors = errors_of(record);
      seen.insert(errors.begin(), errors.end());
      std::size_t lacking = 0;
      auto losses = accuracy_losses(record, baseline, lacking);
      unknown += lacking;
      if (lacking > 0 && !errors.empty()) fresh.insert(candidate_of(errors.front()));
      if (!losses.empty() || lacking < errors.size())
        verdicts.push_back({results.file, subject_of(key_of(record)), std::move(losses), {}, ""});
    }
    for (const RecordKey& candidate : fresh)
      verdicts.push_back(
          {results.file, subject_of(candidate), {}, {}, "", "is not in the baseline"});
    if (unknown > 0)
      verdicts.push_back({results.file,
                          "accuracy",
                          {},
                          {std::to_string(unknown) + " errors of " + std::to_string(fresh.size()) +
                           " candidates are not in the baseline"},
                          ""});
  }
  judge_missing(files.size() == 1 ? files.front().file : "the baseline", baseline, seen,
                missing_allowed, verdicts);
  return verdicts;
}

AccuracyBaseline baseline_to_store(std::span<const Results> files, std::size_t& left_out) {
  std::vector<Record> records;
  for (const Results& results : files)
    records.insert(records.end(), results.records.begin(), results.records.end());
  AccuracyBaseline baseline = accuracy_baseline(records);
  left_out =
      std::erase_if(baseline, [](const auto& entry) { return entry.second.seeds < least_seeds; });
  if (baseline.empty())
    throw InputError("no baseline: of no candidate there are verified records of " +
                     std::to_string(least_seeds) + " seeds and more (verify --seeds)");
  return baseline;
}

}  // namespace gla_bench
