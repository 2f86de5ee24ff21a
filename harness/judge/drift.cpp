#include "harness/judge/drift.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {
namespace {

constexpr double false_alarm = 1.0 / least_controls;  // of a whole comparison

std::string percent(double value, int digits) {
  std::ostringstream text;
  text.precision(digits);
  text << 100 * value << " %";
  return text.str();
}

/// With a tail whose probability falls with the square of the distance, one of `judged` further
/// rows lies beyond this many times the farthest of n with the probability of a false alarm.
double margin_for(std::size_t n, std::size_t judged) {
  return std::sqrt(static_cast<double>(judged) / (false_alarm * static_cast<double>(n + 1)));
}

}  // namespace

double apart(double a, double b) {
  return a > 0 && b > 0 ? std::max(a / b, b / a) - 1 : 0;
}

Drift drift_between(std::span<const double> moved, std::size_t judged, double rates_moved) {
  judged = std::max<std::size_t>(judged, 1);
  const std::string rows = std::to_string(moved.size()) + " rows of unchanged sources ";
  if (moved.empty())
    return {std::max(rates_moved, assumed_drift), "assumed: no row of unchanged sources shows it"};
  if (moved.size() >= least_controls * judged) {
    const double share = 1 - false_alarm / static_cast<double>(judged);
    const double shown = quantile(moved, share);
    return {std::max(rates_moved, shown),
            "of " + rows + percent(share, 3) + " moved by " + percent(shown, 3) + " or less"};
  }
  const double farthest = *std::max_element(moved.begin(), moved.end());
  const double margin = std::max(1.0, margin_for(moved.size(), judged));
  std::ostringstream times;
  times.precision(2);
  times << margin;
  return {std::max({rates_moved, assumed_drift, margin * farthest}),
          rows + "moved by up to " + percent(farthest, 3) + ", taken " + times.str() +
              " times because they are few"};
}

}  // namespace gla_bench
