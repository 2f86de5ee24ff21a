#include "harness/support/statistics/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/support/statistics/quantiles.hpp"
#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {
namespace {

constexpr double assumed_relative = 0.02;
constexpr double assumed_seconds = 2e-7;
constexpr double weight_of_assumption = 4;  // samples
constexpr std::size_t enough_for_quartiles = 8;

/// Relative squared deviations from the median, summed.
double squares(std::span<const double> samples, double middle) {
  const auto count = static_cast<double>(samples.size());
  if (samples.size() >= enough_for_quartiles) {
    const double sigma =
        (quantile(samples, 0.75) - quantile(samples, 0.25)) / sigmas_between_quartiles / middle;
    return sigma * sigma * (count - 1);
  }
  double sum = 0;
  for (const double sample : samples) sum += std::pow(sample / middle - 1, 2);
  return sum;
}

}  // namespace

double assumed_noise(double seconds) {
  return assumed_relative + assumed_seconds / seconds;
}

double relative_half_width(std::span<const double> samples) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double middle = median(samples);
  const auto count = static_cast<double>(samples.size());
  const double assumed = assumed_noise(middle);
  const double freedom = weight_of_assumption + count - 1;
  const double sigma =
      std::sqrt((weight_of_assumption * assumed * assumed + squares(samples, middle)) / freedom);
  const double factor = samples.size() < 3 ? 1 : median_error_over_mean_error;
  return student_quantile(0.975, freedom) * factor * sigma / std::sqrt(count);
}

Interval interval_of(std::span<const double> samples) {
  const double middle = median(samples);
  const double half = relative_half_width(samples);
  return {middle * std::max(0.0, 1 - half), middle * (1 + half)};
}

bool is_clear_of(const Interval& slow, const Interval& best, double drift) {
  return slow.low > best.high * (1 + drift);
}

}  // namespace gla_bench
