#include "harness/support/statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gla_bench {
namespace {

double sorted_quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

/// Sorted, or empty where a NaN makes every order meaningless.
std::vector<double> sorted_samples(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  for (const double sample : sorted)
    if (std::isnan(sample)) return {};
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

double quantile(std::span<const double> samples, double p) {
  const auto sorted = sorted_samples(samples);
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  return sorted_quantile(sorted, p);
}

double median(std::span<const double> samples) {
  return quantile(samples, 0.5);
}

double relative_noise(std::span<const double> samples) {
  const auto sorted = sorted_samples(samples);
  if (sorted.size() < 4) return std::numeric_limits<double>::infinity();
  const double middle = sorted_quantile(sorted, 0.5);
  if (!(middle > 0)) return std::numeric_limits<double>::infinity();
  const double sigma =
      (sorted_quantile(sorted, 0.75) - sorted_quantile(sorted, 0.25)) / sigmas_between_quartiles;
  const double error =
      median_error_over_mean_error * sigma / std::sqrt(static_cast<double>(sorted.size()));
  return error / middle;
}

}  // namespace gla_bench
