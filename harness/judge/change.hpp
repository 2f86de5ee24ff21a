#pragma once
// Verdicts on times: numbers in, words out. Pure functions.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/support/statistics/bootstrap.hpp"

namespace gla_bench {

enum class Change { faster, slower, same, inconclusive };
std::string_view name(Change change);

struct ChangePolicy {
  /// What counts as a change: 0.02 for 2 %. Times whose ratio lies between 1/(1 + min_effect) and 1
  /// + min_effect are the same.
  double min_effect = 0.02;
  double alpha = 0.05;            ///< chance of one false alarm among all rows of a comparison
  std::size_t least_rounds = 10;  ///< fewer are inconclusive
};

/// The verdict on one row. `significant`: whether its `p` holds among all rows (holm()).
/// same: the whole interval lies within the minimum effect. slower: significant, the whole interval
/// above 1, and the median by the minimum effect or more; faster: the same downwards. Anything
/// else, too few rounds and NaN are inconclusive.
Change judge_change(const RatioEstimate& estimate, const ChangePolicy& policy, bool significant);

/// Why a row is inconclusive: "the interval -1.2 % .. +3.4 % reaches out of +-2 % and over 0".
std::string why_inconclusive(const RatioEstimate& estimate, const ChangePolicy& policy,
                             bool significant);

/// Which of these hold together, the chance of a false one among them all being at most `alpha`
/// (Holm's step-down procedure). NaN never holds.
std::vector<bool> holm(std::span<const double> p, double alpha);

}  // namespace gla_bench
