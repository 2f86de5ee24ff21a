#include "harness/search/pool.hpp"

#include <algorithm>

#include "harness/measure/measure.hpp"
#include "harness/support/statistics/statistics.hpp"

namespace gla_bench::search {

Pool::Pool(std::vector<SearchCandidate> candidates, const SearchOptions& options)
    : candidates_(std::move(candidates)),
      options_(options),
      findings_(candidates_.size()),
      joint_(candidates_.size()) {}

std::vector<std::size_t> Pool::open_and_measured() const {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < size(); ++i)
    if (is_open(i) && is_measured(i)) list.push_back(i);
  return list;
}

void Pool::add(std::size_t candidate, std::span<const double> seconds, bool joint) {
  auto& samples = findings_[candidate].samples;
  samples.insert(samples.end(), seconds.begin(), seconds.end());
  if (joint) joint_[candidate].insert(joint_[candidate].end(), seconds.begin(), seconds.end());
}

std::span<const double> Pool::judged(std::size_t candidate) const {
  return joint_[candidate].empty() ? findings_[candidate].samples : joint_[candidate];
}

double Pool::seconds(std::size_t candidate) const {
  return median(judged(candidate));
}

std::optional<std::size_t> Pool::best() const {
  // Candidates that are open, or stayed to the end, have been measured with the most effort. The
  // slower ones count only when none of those is left because all failed.
  const auto rank = [&](std::size_t i) {
    switch (findings_[i].left) {
      case Left::searched:
      case Left::end:
      case Left::stopped:
        return 0;
      case Left::slower:
        return 1;
      default:
        return 2;
    }
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!is_measured(i) || rank(i) == 2) continue;
    if (!best || rank(i) < rank(*best) || (rank(i) == rank(*best) && seconds(i) < seconds(*best)))
      best = i;
  }
  return best;
}

bool Pool::wanted(std::size_t candidate) {
  if (!is_open(candidate)) return false;
  if (is_measured(candidate)) return true;
  const double bytes = candidates_[candidate].model_bytes;
  if (!(options_.copy_bytes_per_second > 0) || !(options_.last_level_cache > 0)) return true;
  if (bytes < 2 * options_.last_level_cache) return true;
  const auto fastest = best();
  if (!fastest) return true;
  const double least = bytes / (options_.copy_bytes_per_second * suspect_margin);
  if (least <= interval_of(judged(*fastest)).high) return true;
  leave(candidate, Left::traffic);
  return false;
}

void Pool::leave(std::size_t candidate, Left left, bool crowded_out) {
  Finding& finding = findings_[candidate];
  if (finding.left == Left::failed) return;
  const auto fastest = best();
  finding.left = left;
  finding.crowded_out = crowded_out;
  if (is_measured(candidate)) finding.own = interval_of(judged(candidate));
  if (fastest) finding.best = interval_of(judged(*fastest));
}

void Pool::drop_the_slower(double drift) {
  const auto fastest = best();
  if (!fastest) return;
  const Interval limit = interval_of(judged(*fastest));
  for (const std::size_t i : open_and_measured())
    if (i != *fastest && is_clear_of(interval_of(judged(i)), limit, drift)) leave(i, Left::slower);
}

void Pool::crowd_out(std::size_t most) {
  std::vector<std::size_t> there = open_and_measured();
  std::stable_sort(there.begin(), there.end(),
                   [&](std::size_t a, std::size_t b) { return seconds(a) < seconds(b); });
  for (std::size_t i = most; i < there.size(); ++i) leave(there[i], Left::slower, true);
}

void Pool::close(Left measured, Left others) {
  for (std::size_t i = 0; i < size(); ++i)
    if (is_open(i)) leave(i, is_measured(i) ? measured : others);
}

}  // namespace gla_bench::search
