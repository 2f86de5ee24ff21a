#pragma once
// How far the machine may have drifted between two runs that were made one after the other. Numbers
// in, a number and a sentence out.

#include <cstddef>
#include <span>
#include <string>

namespace gla_bench {

/// How far apart two times or rates are: 0.1 where the larger is a tenth above the smaller; 0 where
/// one of them is no positive number.
double apart(double a, double b);

struct Drift {
  double most = 0;  ///< a ratio of times within 1 / (1 + most) and 1 + most may be the machine's
  std::string evidence;
};

/// The drift that is assumed at least where few rows show it.
constexpr double assumed_drift = 0.03;
/// How many rows of unchanged sources show the drift of one other row without a margin.
constexpr std::size_t least_controls = 20;

/// `moved`: how far apart the two times of each row are whose sources have not changed, so that all
/// of it is drift. `judged`: how many other rows are judged by it. `rates_moved`: how far apart the
/// copy rates are. The drift is what none of the other rows moves by drift alone, with a
/// probability of 95 %. Where there are 20 rows of unchanged sources for each other row, that is a
/// quantile of what they moved. Fewer are likely to have missed the largest moves, of which a heavy
/// tail has many: what the farthest of n moved is then taken sqrt(20 * judged / (n + 1)) times, and
/// assumed_drift at least.
Drift drift_between(std::span<const double> moved, std::size_t judged, double rates_moved);

}  // namespace gla_bench
