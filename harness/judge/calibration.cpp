#include "harness/judge/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "core/error.hpp"

namespace gla_bench {
namespace {

/// An A/A run is one of the same commit and the same sources on both sides.
void expect_same_program(const Results& rounds) {
  const std::string commit = fact_text(rounds.environment, "git_commit");
  const std::string other = fact_text(rounds.environment, "against_git_commit");
  if (commit != other)
    throw InputError(rounds.file + ": is no A/A run: commit " + commit + " against " + other);
  if (rounds.environment.contains("planted_slowdown_percent"))
    throw InputError(rounds.file + ": is no A/A run: one program's times were made longer");
  for (const Record& record : rounds.records)
    if (record.against && record.against->source_hash != record.source_hash)
      throw InputError(rounds.file + ": is no A/A run: the sources of " + record.variant +
                       " differ between the two programs");
}

std::string percent(double share) {
  std::ostringstream text;
  text.precision(3);
  text << 100 * share << " %";
  return text.str();
}

}  // namespace

NoiseFloor noise_floor(const Results& rounds, const BootstrapPolicy& policy) {
  ComparisonPolicy as_measured;
  as_measured.bootstrap = policy;
  const Comparison comparison = compare_rounds(rounds, as_measured);
  expect_same_program(rounds);
  std::vector<double> reach;
  for (const ComparedRow& row : comparison.rows)
    if (row.estimate && std::isfinite(row.estimate->low) && std::isfinite(row.estimate->high) &&
        row.estimate->count >= as_measured.change.least_rounds)
      reach.push_back(std::max(1 / row.estimate->low, row.estimate->high) - 1);
  if (reach.size() < least_calibration_rows)
    throw InputError(rounds.file + ": " + std::to_string(reach.size()) +
                     " rows with enough rounds, a calibration needs at least " +
                     std::to_string(least_calibration_rows));
  std::sort(reach.begin(), reach.end());
  return {rounds.file, reach[(reach.size() * 99 + 99) / 100 - 1], reach.size()};
}

double gate_effect(std::optional<double> asked, const std::optional<NoiseFloor>& floor) {
  const double usual = ChangePolicy{}.min_effect;
  if (!floor) return asked.value_or(usual);
  if (!asked) return std::max(usual, floor->effect);
  if (*asked < floor->effect)
    throw InputError("a minimum effect of " + percent(*asked) + " is below the noise floor of " +
                     percent(floor->effect) + " that " + floor->file + " shows (" +
                     std::to_string(floor->rows) + " rows of the same program against itself)");
  return *asked;
}

}  // namespace gla_bench
