#include "harness/cost_model/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace gla_bench::cost_model {
namespace {

/// What a place counts, from 0 on.
double share_of(std::size_t place) {
  return 1 / std::log2(2.0 + static_cast<double>(place));
}

/// What a candidate is worth at the first place, which falls steeply: 1 for the best, two thirds
/// at 2 % behind, a tenth at twice the time.
double worth_of(double behind) {
  return std::exp(-2.3 * std::sqrt(behind));
}

std::vector<double> gains_of(const std::vector<double>& behind) {
  std::vector<double> gains;
  for (double one : behind) gains.push_back(worth_of(one));
  std::vector<double> best = gains;
  std::sort(best.begin(), best.end(), std::greater<>());
  double most = 0;
  for (std::size_t i = 0; i < best.size(); ++i) most += best[i] * share_of(i);
  for (double& gain : gains) gain /= most;
  return gains;
}

}  // namespace

Ranking::Ranking(std::vector<Contest> contests, std::size_t places)
    : contests_(std::move(contests)), places_(places) {
  for (const Contest& contest : contests_) gains_.push_back(gains_of(contest.behind));
}

void Ranking::look(const std::vector<double>& predicted, std::vector<double>& slopes,
                   std::vector<double>& weights) const {
  std::fill(slopes.begin(), slopes.end(), 0.0);
  std::fill(weights.begin(), weights.end(), 0.0);
  for (std::size_t c = 0; c < contests_.size(); ++c)
    pull(contests_[c], gains_[c], predicted, slopes, weights);
}

void Ranking::pull(const Contest& contest, const std::vector<double>& gains,
                   const std::vector<double>& predicted, std::vector<double>& slopes,
                   std::vector<double>& weights) const {
  const std::size_t count = contest.examples.size();
  const auto score = [&](std::size_t i) { return predicted[contest.examples[i]]; };
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return score(a) > score(b); });
  const bool all_alike = score(order.front()) <= score(order.back());
  std::vector<double> slope(count), weight(count);
  double sum = 0;
  for (std::size_t i = 0; i + 1 < count && i < places_; ++i)
    for (std::size_t j = i + 1; j < count; ++j) {
      const std::size_t a = order[i], b = order[j];
      const double more = gains[a] - gains[b];
      if (more >= 0 && more <= 0) continue;
      const std::size_t better = more > 0 ? a : b, worse = more > 0 ? b : a;
      const double apart = score(better) - score(worse);
      double gained = std::abs(more) * (share_of(i) - share_of(j));
      // Candidates whose scores are close are told apart first.
      if (!all_alike) gained /= 0.01 + std::abs(apart);
      const double doubt = 1 / (1 + std::exp(apart));
      slope[better] += doubt * gained;
      slope[worse] -= doubt * gained;
      weight[better] += doubt * (1 - doubt) * gained;
      weight[worse] += doubt * (1 - doubt) * gained;
      sum += 2 * doubt * gained;
    }
  // A problem of many candidates counts for more than one of few, but not in proportion.
  const double factor = sum > 0 ? std::log2(1 + sum) / sum : 0;
  for (std::size_t i = 0; i < count; ++i) {
    slopes[contest.examples[i]] += factor * slope[i];
    weights[contest.examples[i]] += factor * weight[i];
  }
}

}  // namespace gla_bench::cost_model
