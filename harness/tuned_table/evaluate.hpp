#pragma once
// How good a table's choices are, held against records of what else could have been chosen.

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
  bool tuned = false;  ///< an entry of the table comes from it
  Choice choice;
  std::size_t candidates = 0;  ///< right and timed in the records
  std::string best_variant;    ///< the fastest of them
  Tile best_tile;
  double best_ms = 0, chosen_ms = 0;
  std::optional<double> regret;  ///< chosen_ms / best_ms - 1
  std::string unknown;           ///< why there is no regret: not recorded, wrong, ..
  bool failed = false;           ///< the choice was tried and is not right
};

struct Evaluation {
  std::vector<EvaluatedProblem> problems;
  // Over problems that were not tuned and have a regret; NaN where there are none.
  std::size_t judged = 0;
  double median_regret = std::numeric_limits<double>::quiet_NaN();
  double worst_regret = std::numeric_limits<double>::quiet_NaN();
  std::size_t tuned = 0;    ///< problems of the table itself: not judged
  std::size_t unknown = 0;  ///< not tuned, but without a regret
};

/// What the records' device allows, as far as their environment says.
Limits recorded_limits(const Facts& environment);

/// A row for each problem that the records have a right time of, in their order. Only what the
/// variant itself refuses is passed over, as it would be where it runs.
Evaluation evaluate(std::span<const Results> files, const Chooser& chooser);

/// For people.
std::string evaluation_report(const Evaluation& evaluation, bool markdown, std::size_t width = 0);

}  // namespace gla_bench
