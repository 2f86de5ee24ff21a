#pragma once
// Compares two results files, or the two sides of interleaved rounds, and gives a verdict for each
// row. Pure functions.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/accuracy/accuracy.hpp"
#include "harness/judge/change.hpp"
#include "harness/judge/drift.hpp"
#include "harness/records/comparability.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench {

/// The outcome of a row or of a whole comparison. A worse one outweighs all better ones.
enum class Outcome { passed, inconclusive, regression, wrong };
std::string_view name(Outcome outcome);

struct ComparisonPolicy {
  ChangePolicy change;
  BootstrapPolicy bootstrap;
  std::set<std::string> allowed;  ///< facts that may differ (comparability.hpp)
  bool missing_allowed = false;   ///< rows of the base that the new file lacks are accepted
  bool times = true;              ///< false: only status and accuracy are compared
};

/// The sustained times of a row, where both files have them.
struct SustainedTimes {
  RatioEstimate estimate;
  double base_ms = 0, fresh_ms = 0;  ///< medians
};

/// One problem, variant and tile.
struct ComparedRow {
  std::string subject;  ///< "chunk_fused [cuda] block_v=32 on gla forward ..."
  /// A Change's name, or "wrong", "crashed" and other statuses that are faults, "less accurate",
  /// "missing", "refused", "not measured", "new", "mended", "verified".
  std::string verdict;
  Outcome outcome = Outcome::passed;
  std::string why;                        ///< empty where the verdict is explanation enough
  std::optional<RatioEstimate> estimate;  ///< where both have times
  double base_ms = 0, fresh_ms = 0;       ///< medians, where there is an estimate
  std::optional<SustainedTimes> sustained;
  std::vector<std::string> labels;        ///< reasons why the row is less certain
  std::string file;                       ///< the new file, by its path
  /// The n of FILE#n, in the base and in the new file. It is 0 where the file lacks the row, and
  /// for the base of interleaved rounds, which is no file.
  std::size_t base_place = 0, fresh_place = 0;
};

struct Comparison {
  std::string base, fresh;  ///< file names
  bool paired = false;      ///< true where the samples are interleaved rounds
  double min_effect = 0;
  double drift =
      0;  ///< of unpaired files: how much the device may have changed between the two runs
  std::string drift_evidence;  ///< where that figure comes from
  std::vector<Difference> differences;
  std::vector<ComparedRow> rows;  ///< in the new file's order, then the missing rows
  std::size_t refused = 0;        ///< how many rows neither file could run; they are not listed
  std::size_t accuracy_unknown =
      0;  ///< how many errors have no spread over seeds to be compared with
};

/// Rows match by problem, variant, backend and tile. Times are unpaired samples of two runs, so the
/// intervals are widened by the drift between the runs (drift.hpp). What rows of unchanged sources
/// moved, and what the copy rates did, is drift; such a row is therefore never slower or faster.
/// A row is judged by its cold times. One whose sustained time is slower is slower as well.
/// @throws InputError for files that cannot be compared, and for a row that a file has twice
Comparison compare_files(const Results& base, const Results& fresh, const ComparisonPolicy& policy);

/// A file of `run --against`: each record holds its rounds. @throws InputError for a file without
Comparison compare_rounds(const Results& rounds, const ComparisonPolicy& policy);

/// True where records of the file hold interleaved rounds.
bool has_rounds(const Results& results);

/// The worst outcome of the rows; inconclusive where no row was compared.
Outcome outcome_of(const Comparison& comparison);

}  // namespace gla_bench
