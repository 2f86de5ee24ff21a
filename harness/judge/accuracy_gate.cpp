#include "harness/judge/accuracy_gate.hpp"

#include "core/error.hpp"

namespace gla_bench {

std::vector<Verdict> accuracy_verdicts(std::span<const Results> files,
                                       const AccuracyBaseline& baseline) {
  std::vector<Verdict> verdicts;
  for (const Results& results : files) {
    std::size_t unknown = 0;
    for (const Record& record : results.records) {
      auto losses = accuracy_losses(record, baseline, unknown);
      if (losses.empty()) continue;
      Record identity = record;
      identity.reason.clear();
      verdicts.push_back(
          {results.file, "accuracy of " + describe(identity), std::move(losses), {}, ""});
    }
    if (unknown > 0)
      verdicts.push_back({results.file,
                          "accuracy",
                          {},
                          {std::to_string(unknown) + " errors are not in the baseline"},
                          ""});
  }
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
