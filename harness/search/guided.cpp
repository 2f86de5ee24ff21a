// The search by predictions: looks at the candidates that promise most, corrects what it believes
// by what it sees, and races the best.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "harness/search/strategies.hpp"
#include "harness/support/statistics/statistics.hpp"

namespace gla_bench::search {
namespace {

constexpr int samples_of_a_look = 1;

double log2_of_share(double share) {
  return std::log2(1 + share);
}

}  // namespace

Guided::Guided(std::vector<SearchCandidate> candidates, const SearchOptions& options)
    : PoolSearcher(std::move(candidates), options),
      surrogate_(pool_.candidates()),
      visited_(pool_.size(), false) {}

/// The candidate that `auto` takes, else the one that is predicted to be fastest.
std::size_t Guided::first() const {
  std::size_t best = 0;
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    if (pool_.candidates()[i].is_start) return i;
    if (surrogate_.predicted(i) < surrogate_.predicted(best)) best = i;
  }
  return best;
}

/// How likely a variant's next candidate is to be right. What is wrong in one tile of a variant is
/// mostly wrong in all: the share of those that were right so far, and of one more, counts squared.
std::map<std::string, double> Guided::chances_of_being_right() const {
  std::map<std::string, std::pair<double, double>> counts;
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    auto& [right, all] = counts[pool_.candidates()[i].variant];
    const bool failed = pool_.findings()[i].left == Left::failed;
    right += !failed && pool_.is_measured(i) ? 1 : 0;
    all += failed || pool_.is_measured(i) ? 1 : 0;
  }
  std::map<std::string, double> chances;
  for (const auto& [variant, count] : counts)
    chances[variant] = std::pow((count.first + 1) / (count.second + 1), 2);
  return chances;
}

/// The candidates with the greatest expected improvement, one after the other. Each is then taken
/// to be as fast as it is believed to be, so that the next is not its twin.
std::vector<std::size_t> Guided::most_promising(std::size_t count, double least) const {
  Surrogate assumed = surrogate_;
  double best = best_log_;
  std::vector<std::size_t> list;
  std::vector<bool> taken = visited_;
  const auto take = [&](std::size_t candidate, double mean) {
    list.push_back(candidate);
    taken[candidate] = true;
    assumed.observe(candidate, std::exp2(mean));
    best = std::min(best, mean);
  };
  if (pool_.size() == 0) return list;
  if (!std::isfinite(best) && !visited_[first()]) take(first(), surrogate_.predicted(first()));
  if (!std::isfinite(best)) return next_after_failures(count);
  const auto right = chances_of_being_right();
  while (list.size() < count) {
    const auto beliefs = assumed.beliefs();
    std::size_t next = pool_.size();
    double most = least > 0 ? least : -1;
    for (std::size_t i = 0; i < pool_.size(); ++i) {
      if (taken[i] || !pool_.is_open(i)) continue;
      const double expected =
          right.at(pool_.candidates()[i].variant) * expected_improvement(beliefs[i], best);
      if (expected > most) {
        most = expected;
        next = i;
      }
    }
    if (next == pool_.size()) break;
    take(next, beliefs[next].mean);
  }
  return list;
}

/// While all that was looked at has failed: the predicted best of those variants that were looked
/// at least.
std::vector<std::size_t> Guided::next_after_failures(std::size_t count) const {
  std::map<std::string, std::size_t> seen;
  std::vector<std::size_t> waiting, list;
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    std::size_t& of_variant = seen[pool_.candidates()[i].variant];
    of_variant += visited_[i] ? 1 : 0;
    if (!visited_[i] && pool_.is_open(i)) waiting.push_back(i);
  }
  const auto place = [&](std::size_t i) {
    return std::pair(seen[pool_.candidates()[i].variant], surrogate_.predicted(i));
  };
  while (list.size() < count && !waiting.empty()) {
    const auto next =
        std::min_element(waiting.begin(), waiting.end(),
                         [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    ++seen[pool_.candidates()[*next].variant];
    list.push_back(*next);
    waiting.erase(next);
  }
  return list;
}

std::vector<std::size_t> Guided::look() {
  bool stopped = false;
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    const Finding& finding = pool_.findings()[i];
    stopped = stopped || finding.left == Left::stopped;
    if (!visited_[i] || finding.samples.empty()) continue;
    if (finding.left == Left::failed)
      surrogate_.forget(i);
    else
      surrogate_.observe(i, pool_.seconds(i));
  }
  outlook_.clear();
  if (stopped) return {};  // the budget allows no other candidate
  if (const auto best = pool_.best()) best_log_ = std::log2(pool_.seconds(*best));
  const SearchOptions& options = pool_.options();
  const auto looked_at =
      static_cast<std::size_t>(std::count(visited_.begin(), visited_.end(), true));
  const bool enough = looked_at >= options.least_looks;
  // What would come next is compiled meanwhile.
  auto list = most_promising(options.looks_at_once + options.compiled_ahead,
                             enough ? log2_of_share(options.least_improvement) : 0);
  const auto now = static_cast<std::ptrdiff_t>(std::min(options.looks_at_once, list.size()));
  outlook_.assign(list.begin() + now, list.end());
  list.resize(static_cast<std::size_t>(now));
  for (const std::size_t i : list) visited_[i] = true;
  return list;
}

Batch Guided::next() {
  if (!racing_) {
    const auto list = look();
    if (!list.empty()) return batch(list, samples_of_a_look, false);
    racing_ = true;
    const SearchOptions& options = pool_.options();
    pool_.drop_the_slower(options.drift);
    const auto looked_at =
        std::count_if(pool_.findings().begin(), pool_.findings().end(),
                      [](const Finding& finding) { return !finding.samples.empty(); });
    most_ = std::max(options.keep_least,
                     static_cast<std::size_t>(options.keep_share * static_cast<double>(looked_at)));
    pool_.crowd_out(most_);
  } else {
    pool_.drop_the_slower(0);
    pool_.crowd_out(most_);
  }
  return race();
}

Batch Guided::race() {
  const SearchOptions& options = pool_.options();
  const auto field = pool_.open_and_measured();
  if (field.empty() || is_settled(field)) {
    pool_.close(Left::end, Left::unvisited);
    return {};
  }
  const int samples = std::min(samples_, options.most_samples - taken_);
  taken_ += samples;
  samples_ *= 2;
  most_ = std::max(options.final_count, (field.size() + 1) / 2);
  return batch(field, samples, true);
}

bool Guided::is_settled(const std::vector<std::size_t>& field) const {
  const SearchOptions& options = pool_.options();
  if (taken_ >= options.most_samples) return true;
  return taken_ > 0 && field.size() <= options.final_count &&
         std::all_of(field.begin(), field.end(), [&](std::size_t i) {
           return relative_half_width(pool_.judged(i)) <= options.precision;
         });
}

}  // namespace gla_bench::search
