#include "harness/workers/ahead.hpp"

#include <algorithm>

namespace gla_bench {

AheadWindow::AheadWindow(std::span<const Assignment> work) : work_(work), begins_{0} {
  for (const Assignment& point : work) begins_.push_back(begins_.back() + point.accepted.size());
}

std::vector<NamedPoint> AheadWindow::take(std::size_t point, std::size_t& until, std::size_t worker,
                                          std::size_t workers) const {
  const std::size_t end = std::min(begins_.back(), begins_[point + 1] + length);
  const std::size_t first = std::max({until, begins_[point], barred_});
  std::vector<NamedPoint> points;
  for (std::size_t p = point; p < work_.size() && begins_[p] < end; ++p) {
    NamedPoint told{work_[p].problem, {}};
    for (std::size_t i = std::max(first, begins_[p]); i < std::min(end, begins_[p + 1]); ++i) {
      if (p != point && i % workers != worker) continue;
      const Candidate& candidate = work_[p].accepted[i - begins_[p]];
      told.candidates.push_back({candidate.variant->name, candidate.tile});
    }
    if (!told.candidates.empty()) points.push_back(std::move(told));
  }
  until = std::max(until, end);
  return points;
}

void AheadWindow::bar(std::size_t until) {
  barred_ = std::max(barred_, until);
}

}  // namespace gla_bench
