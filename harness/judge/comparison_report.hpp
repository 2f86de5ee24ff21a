#pragma once
// Reports a comparison, for people and for other programs.

#include <string>
#include <vector>

#include "harness/judge/comparison.hpp"
#include "harness/judge/gate.hpp"

namespace gla_bench {

struct ComparisonStyle {
  bool markdown = false;  ///< for a pull request: unchanged rows are folded away
  bool all = false;       ///< list rows that passed without a change, too
  std::size_t width = 0;  ///< columns of the terminal; 0: no limit
  bool colour = false;    ///< of a terminal
};

/// Says what was compared, lists the differences of the environments, shows a table of the rows,
/// the worst first, and ends with the counts.
std::string comparison_text(const Comparison& comparison, const ComparisonStyle& style);

/// "118 same, 1 slower, 1 inconclusive"
std::string comparison_counts(const Comparison& comparison);

/// {"comparison_version": 1, "outcome", "rows": [..], ..}: configs/schema/comparison.schema.json.
Json comparison_json(const Comparison& comparison);

/// One verdict a row, for junit_xml(). Whatever did not pass is a failure.
std::vector<Verdict> comparison_verdicts(const Comparison& comparison);

}  // namespace gla_bench
