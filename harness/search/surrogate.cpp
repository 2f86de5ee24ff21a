#include "harness/search/surrogate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

namespace gla_bench::search {
namespace {

constexpr double shared_by_all = 0.2;  ///< of an error's variance: what a problem or device adds
constexpr double per_step = 0.35;      ///< how fast errors part, for each step along an axis
constexpr double noise = 0.01;         ///< of one sample, log2
constexpr double least_deviation = 0.03, most_deviation = 1.5;
/// How far errors that were seen may change what is believed of the others' size.
constexpr double least_scale = 0.5, most_scale = 2;
constexpr double errors_before = 8;  ///< that count as expected, before any is seen

}  // namespace

double expected_improvement(const Belief& belief, double best) {
  const double gap = best - belief.mean;
  if (!(belief.deviation > 0)) return std::max(0.0, gap);
  const double z = gap / belief.deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double share = std::erfc(-z / std::numbers::sqrt2) / 2;
  return gap * share + belief.deviation * density;
}

Surrogate::Surrogate(const std::vector<SearchCandidate>& candidates) {
  std::map<std::string, int> variants;
  std::map<std::pair<std::string, std::string>, std::set<int>> axes;
  double slowest = 0;
  for (const SearchCandidate& one : candidates) {
    variants.emplace(one.variant, static_cast<int>(variants.size()));
    for (const auto& [axis, value] : one.tile) axes[{one.variant, axis}].insert(value);
    slowest = std::max(slowest, one.predicted_seconds);
  }
  for (const SearchCandidate& one : candidates) {
    variant_.push_back(variants.at(one.variant));
    std::vector<int>& place = place_.emplace_back();
    for (const auto& [axis, value] : one.tile) {
      const std::set<int>& values = axes.at({one.variant, axis});
      place.push_back(static_cast<int>(std::distance(values.begin(), values.find(value))));
    }
    const bool known = one.predicted_seconds > 0;
    const double seconds = known ? one.predicted_seconds : slowest > 0 ? slowest : 1;
    mean_.push_back(std::log2(seconds));
    deviation_.push_back(known ? std::clamp(one.predicted_sigma, least_deviation, most_deviation)
                               : most_deviation);
  }
}

void Surrogate::forget(std::size_t candidate) {
  const auto found = std::find(seen_.begin(), seen_.end(), candidate);
  if (found == seen_.end()) return;
  errors_.erase(errors_.begin() + (found - seen_.begin()));
  seen_.erase(found);
}

void Surrogate::observe(std::size_t candidate, double seconds) {
  forget(candidate);
  seen_.push_back(candidate);
  errors_.push_back(std::log2(seconds) - mean_[candidate]);
}

double Surrogate::covariance(std::size_t a, std::size_t b) const {
  double alike = shared_by_all;
  if (variant_[a] == variant_[b]) {
    int steps = 0;
    for (std::size_t axis = 0; axis < std::min(place_[a].size(), place_[b].size()); ++axis)
      steps += std::abs(place_[a][axis] - place_[b][axis]);
    alike += (1 - shared_by_all) * std::exp(-per_step * steps);
  }
  return alike * deviation_[a] * deviation_[b];
}

/// Errors as large as expected give 1.
double Surrogate::scale_of_errors() const {
  double squares = errors_before;
  for (std::size_t i = 0; i < seen_.size(); ++i)
    squares += std::pow(errors_[i] / deviation_[seen_[i]], 2);
  const double mean = squares / (errors_before + static_cast<double>(seen_.size()));
  return std::clamp(std::sqrt(mean), least_scale, most_scale);
}

std::vector<Belief> Surrogate::beliefs() const {
  const std::size_t n = seen_.size();
  const double scale = scale_of_errors();
  // Cholesky's decomposition of the covariance of what was seen.
  std::vector<std::vector<double>> low(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double value = scale * scale * covariance(seen_[i], seen_[j]) + (i == j ? noise * noise : 0);
      for (std::size_t k = 0; k < j; ++k) value -= low[i][k] * low[j][k];
      low[i][j] = i == j ? std::sqrt(std::max(value, 1e-12)) : value / low[j][j];
    }
  const auto solved = [&](std::vector<double> right) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < i; ++k) right[i] -= low[i][k] * right[k];
      right[i] /= low[i][i];
    }
    return right;
  };
  const std::vector<double> errors = solved(errors_);
  std::vector<Belief> list;
  std::vector<double> with(n);
  for (std::size_t c = 0; c < mean_.size(); ++c) {
    for (std::size_t i = 0; i < n; ++i) with[i] = scale * scale * covariance(c, seen_[i]);
    const std::vector<double> part = solved(with);
    double correction = 0, variance = scale * scale * covariance(c, c);
    for (std::size_t i = 0; i < n; ++i) {
      correction += part[i] * errors[i];
      variance -= part[i] * part[i];
    }
    list.push_back({mean_[c] + correction, std::sqrt(std::max(variance, 0.0))});
  }
  return list;
}

}  // namespace gla_bench::search
