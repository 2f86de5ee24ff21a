#pragma once
// Judges a table's choices against records of what else could have been chosen.

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"
#include "harness/tuned_table/choose.hpp"

namespace gla_bench {

struct EvaluatedProblem {
  Problem problem;
  /// The table has an entry that was made from this problem, on the device of these records. What
  /// another device's table says of it is judged like any choice.
  bool tuned = false;
  Choice choice;
  std::size_t candidates = 0;  ///< how many were right and timed in the records
  std::string best_variant;    ///< the fastest of them
  Tile best_tile;
  double best_ms = 0, chosen_ms = 0;
  std::optional<double> regret;  ///< chosen_ms / best_ms - 1
  std::string unknown;           ///< why there is no regret: not recorded, wrong, and so on
  bool failed = false;           ///< the choice was tried and was not right
};

struct Evaluation {
  std::vector<EvaluatedProblem> problems;
  // Over the problems that were not tuned and have a regret; NaN where there are none.
  std::size_t judged = 0;
  double median_regret = std::numeric_limits<double>::quiet_NaN();
  double worst_regret = std::numeric_limits<double>::quiet_NaN();
  std::size_t tuned = 0;    ///< problems that the table was made from, which are not judged
  std::size_t unknown = 0;  ///< problems that were not tuned but have no regret
};

/// The limits of the records' device, as far as their environment gives them.
Limits recorded_limits(const Facts& environment);

/// One row for each problem for which the records have a right time, in their order. A choice is
/// passed over only where the variant itself refuses it, as it would be where it runs.
Evaluation evaluate(std::span<const Results> files, const Chooser& chooser);

/// A report for people.
std::string evaluation_report(const Evaluation& evaluation, bool markdown, std::size_t width = 0);

}  // namespace gla_bench
