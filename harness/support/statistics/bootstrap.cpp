#include "harness/support/statistics/bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "harness/support/statistics/quantiles.hpp"
#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Share of resampled medians that lies below the interval: as for the confidence asked for, but
/// smaller, since few samples understate their own spread.
double tail(double confidence, double independent) {
  const double degrees = std::max(independent - 1, 2.0);
  const double t = student_quantile(0.5 * (1 + confidence), degrees);
  return normal_cdf(-t * std::sqrt((degrees + 1) / degrees));
}

bool usable(std::span<const double> times) {
  return !times.empty() && std::all_of(times.begin(), times.end(),
                                       [](double t) { return t > 0 && std::isfinite(t); });
}

double middle_of(std::vector<double>& values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return 0.5 * (*half + *std::max_element(values.begin(), half));
}

/// Draws medians of a series, blocks of it going round its end.
class Resampler {
 public:
  explicit Resampler(std::span<const double> series)
      : series_(series), block_(block_length(series)), drawn_(series.size()) {}

  double median(std::mt19937_64& random) {
    const std::size_t count = series_.size();
    for (std::size_t at = 0; at < count;) {
      // The high bits, scaled: no std::uniform_int_distribution, which differs between libraries.
      std::size_t from = static_cast<std::size_t>(((random() >> 32) * count) >> 32);
      for (std::size_t i = 0; i < block_ && at < count; ++i, ++at) {
        drawn_[at] = series_[from];
        if (++from == count) from = 0;
      }
    }
    return middle_of(drawn_);
  }

 private:
  std::span<const double> series_;
  std::size_t block_;
  std::vector<double> drawn_;
};

/// As many independent samples as the series is worth.
double independent_share(std::span<const double> series) {
  const double r = std::clamp(autocorrelation(series), 0.0, 0.95);
  return (1 - r) / (1 + r);
}

std::vector<double> logs(std::span<const double> times) {
  std::vector<double> values;
  for (const double time : times) values.push_back(std::log(time));
  return values;
}

RatioEstimate nothing(std::size_t count) {
  return {not_a_number, not_a_number, not_a_number, 1, count};
}

}  // namespace

double autocorrelation(std::span<const double> series) {
  if (series.size() < 4) return 0;
  double mean = 0, variance = 0, covariance = 0;
  for (const double value : series) mean += value / static_cast<double>(series.size());
  for (const double value : series) variance += (value - mean) * (value - mean);
  for (std::size_t i = 1; i < series.size(); ++i)
    covariance += (series[i - 1] - mean) * (series[i] - mean);
  // What is left of a constant series is rounding.
  const double least = 1e-18 * static_cast<double>(series.size());
  return variance > least ? covariance / variance : 0;
}

std::size_t block_length(std::span<const double> series) {
  const double r = std::min(autocorrelation(series), 0.95);
  if (!(r > 0)) return 1;
  const double rule = std::pow(std::sqrt(6.0) * r / (1 - r * r), 2.0 / 3) *
                      std::cbrt(static_cast<double>(series.size()));
  const auto longest = std::max<std::size_t>(1, series.size() / 3);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(rule)), 1, longest);
}

double sign_test(std::size_t above, std::size_t below, double share) {
  const double rounds = std::floor(share * static_cast<double>(above + below));
  if (!(rounds >= 1)) return 1;
  const double fewer = std::ceil(share * static_cast<double>(std::min(above, below)));
  double sum = 0;
  for (double k = 0; k <= fewer; ++k)
    sum += std::exp(std::lgamma(rounds + 1) - std::lgamma(k + 1) - std::lgamma(rounds - k + 1) -
                    rounds * std::log(2.0));
  return std::min(1.0, 2 * sum);
}

RatioEstimate paired_ratio(std::span<const double> base, std::span<const double> fresh,
                           const BootstrapPolicy& policy) {
  if (base.size() != fresh.size())
    throw std::invalid_argument("paired_ratio: as many base rounds as new ones are needed");
  if (!usable(base) || !usable(fresh)) return nothing(base.size());
  std::vector<double> differences;
  std::size_t above = 0, below = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    differences.push_back(std::log(fresh[i] / base[i]));
    above += fresh[i] > base[i] ? 1 : 0;
    below += fresh[i] < base[i] ? 1 : 0;
  }
  // Rounds that tie say as much for one side as for the other.
  const std::size_t ties = base.size() - above - below;
  above += ties / 2;
  below += ties - ties / 2;
  const double share = independent_share(differences);
  std::mt19937_64 random(policy.seed);
  Resampler resampler(differences);
  std::vector<double> medians;
  for (int i = 0; i < policy.resamples; ++i) medians.push_back(resampler.median(random));
  const double edge = tail(policy.confidence, share * static_cast<double>(base.size()));
  return {std::exp(median(differences)), std::exp(quantile(medians, edge)),
          std::exp(quantile(medians, 1 - edge)), sign_test(above, below, share), base.size()};
}

RatioEstimate unpaired_ratio(std::span<const double> base, std::span<const double> fresh,
                             double drift, const BootstrapPolicy& policy) {
  const std::size_t count = std::min(base.size(), fresh.size());
  if (!usable(base) || !usable(fresh)) return nothing(count);
  const std::vector<double> base_logs = logs(base), fresh_logs = logs(fresh);
  const double center = median(fresh_logs) - median(base_logs);
  const double share = std::min(independent_share(base_logs), independent_share(fresh_logs));
  std::mt19937_64 random(policy.seed);
  Resampler base_resampler(base_logs), fresh_resampler(fresh_logs);
  std::vector<double> drawn;
  double spread = 0;
  for (int i = 0; i < policy.resamples; ++i) {
    const double fresh_median = fresh_resampler.median(random);
    drawn.push_back(fresh_median - base_resampler.median(random));
    spread += (drawn.back() - center) * (drawn.back() - center);
  }
  const double edge = tail(policy.confidence, share * static_cast<double>(count));
  const double beyond = std::max(0.0, std::abs(center) - std::log1p(drift));
  const double error = std::sqrt(spread / std::max(1, policy.resamples));
  const double p = beyond > 0 ? 2 * normal_cdf(-beyond / error) : 1;
  return {std::exp(center), std::exp(quantile(drawn, edge)) / (1 + drift),
          std::exp(quantile(drawn, 1 - edge)) * (1 + drift), p, count};
}

RatioEstimate mean_ratio(std::span<const RatioEstimate> ratios, double drift) {
  if (ratios.empty()) return nothing(0);
  double center = 0, below = 0, above = 0;
  std::size_t least = ratios.front().count;
  for (const RatioEstimate& one : ratios) {
    const double middle = std::log(one.ratio);
    center += middle;
    below += std::pow(middle - std::log(one.low), 2);
    above += std::pow(std::log(one.high) - middle, 2);
    least = std::min(least, one.count);
  }
  const auto count = static_cast<double>(ratios.size());
  center /= count;
  return {std::exp(center), std::exp(center - std::sqrt(below) / count) / (1 + drift),
          std::exp(center + std::sqrt(above) / count) * (1 + drift), 1, least};
}

std::vector<double> medians_of_rounds(std::span<const double> times, std::size_t samples) {
  if (samples == 0 ? !times.empty() : times.size() % samples != 0)
    throw std::invalid_argument("medians_of_rounds: the samples do not come out even");
  std::vector<double> rounds;
  for (std::size_t at = 0; at < times.size(); at += samples)
    rounds.push_back(median(times.subspan(at, samples)));
  return rounds;
}

}  // namespace gla_bench
