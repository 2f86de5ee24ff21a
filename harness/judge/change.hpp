#pragma once
// Verdicts on times. Pure functions from numbers to words.

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
  /// The smallest change that counts: 0.02 for 2 %. Times whose ratio lies between 1/(1 +
  /// min_effect) and 1 + min_effect are the same.
  double min_effect = 0.02;
  double alpha = 0.05;            ///< probability of one false alarm among all rows of a comparison
  std::size_t least_rounds = 10;  ///< fewer are inconclusive
};

/// The verdict on one row. `significant`: whether its `p` holds among all rows (holm()). same: the
/// whole interval lies within the minimum effect. slower: the change is significant, the whole
/// interval is above 1, and the median changed by at least the minimum effect. faster: the same in
/// the other direction. Anything else is inconclusive, as are too few rounds and NaN.
Change judge_change(const RatioEstimate& estimate, const ChangePolicy& policy, bool significant);

/// Why a row is inconclusive: "the interval -1.2 % .. +3.4 % reaches out of +-2 % and over 0".
std::string why_inconclusive(const RatioEstimate& estimate, const ChangePolicy& policy,
                             bool significant);

/// Which of these p-values are significant together, with a probability of at most `alpha` for a
/// false one among them all (Holm's step-down procedure). NaN is never significant.
std::vector<bool> holm(std::span<const double> p, double alpha);

}  // namespace gla_bench
