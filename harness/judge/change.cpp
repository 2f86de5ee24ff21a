#include "harness/judge/change.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/support/numbers.hpp"

namespace gla_bench {

std::string_view name(Change change) {
  switch (change) {
    case Change::faster:
      return "faster";
    case Change::slower:
      return "slower";
    case Change::same:
      return "same";
    case Change::inconclusive:
      break;
  }
  return "inconclusive";
}

Change judge_change(const RatioEstimate& estimate, const ChangePolicy& policy, bool significant) {
  if (estimate.count < policy.least_rounds || !std::isfinite(estimate.low) ||
      !std::isfinite(estimate.high))
    return Change::inconclusive;
  const double most = 1 + policy.min_effect;
  if (estimate.low >= 1 / most && estimate.high <= most) return Change::same;
  if (!significant) return Change::inconclusive;
  if (estimate.low > 1 && estimate.ratio >= most) return Change::slower;
  if (estimate.high < 1 && estimate.ratio <= 1 / most) return Change::faster;
  return Change::inconclusive;
}

std::string why_inconclusive(const RatioEstimate& estimate, const ChangePolicy& policy,
                             bool significant) {
  if (estimate.count < policy.least_rounds)
    return std::to_string(estimate.count) + " rounds, at least " +
           std::to_string(policy.least_rounds) + " are needed";
  if (!std::isfinite(estimate.low) || !std::isfinite(estimate.high))
    return "a time is not a positive number";
  const std::string interval = "the interval " + format_change(estimate.low) + " .. " +
                               format_change(estimate.high) + " reaches out of the band";
  if (estimate.low <= 1 && estimate.high >= 1) return interval + " and over 0";
  const double effect = std::max(estimate.ratio, 1 / estimate.ratio);
  if (effect < 1 + policy.min_effect) return interval + ", the median does not";
  if (!significant) return interval + ", but may be chance among so many rows";
  return interval;
}

std::vector<bool> holm(std::span<const double> p, double alpha) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto last_if_nan = [&](std::size_t i) { return std::isnan(p[i]) ? 2.0 : p[i]; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return last_if_nan(a) < last_if_nan(b) || (last_if_nan(a) == last_if_nan(b) && a < b);
  });
  std::vector<bool> holds(p.size(), false);
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    if (!(p[order[rank]] <= alpha / static_cast<double>(p.size() - rank))) break;
    holds[order[rank]] = true;
  }
  return holds;
}

}  // namespace gla_bench
