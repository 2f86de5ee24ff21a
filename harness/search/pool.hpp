#pragma once
// What a search knows of its candidates: shared by the strategies.

#include "harness/search/searcher.hpp"

namespace gla_bench::search {

class Pool {
 public:
  Pool(std::vector<SearchCandidate> candidates, const SearchOptions& options);

  const std::vector<SearchCandidate>& candidates() const { return candidates_; }
  const SearchOptions& options() const { return options_; }
  const std::vector<Finding>& findings() const { return findings_; }
  std::size_t size() const { return candidates_.size(); }

  /// By modelled bytes, the fewest first: the best is likely to be among the first, and what comes
  /// late can be left out for its bytes.
  std::vector<std::size_t> by_traffic() const;

  bool is_open(std::size_t candidate) const { return findings_[candidate].left == Left::searched; }
  bool is_measured(std::size_t candidate) const { return !findings_[candidate].samples.empty(); }
  std::vector<std::size_t> open_and_measured() const;

  /// Samples taken in turns with others are kept apart: only they are compared without drift.
  void add(std::size_t candidate, std::span<const double> seconds, bool joint);
  void count_round(std::size_t candidate) { ++findings_[candidate].rounds; }

  /// Of the joint samples where there are any, else of all.
  std::span<const double> judged(std::size_t candidate) const;
  double seconds(std::size_t candidate) const;

  /// The fastest that has not failed, among those that got farthest.
  std::optional<std::size_t> best() const;
  /// False, and left out, where the modelled bytes alone take longer than the best.
  bool wanted(std::size_t candidate);

  void leave(std::size_t candidate, Left left, bool crowded_out = false);
  /// Whoever lies clear of the best leaves.
  void drop_the_slower(double drift);
  /// At most so many of the open and measured stay, the fastest.
  void crowd_out(std::size_t most);
  /// Everybody who is still there leaves: measured ones as `measured`, the others as `others`.
  void close(Left measured, Left others);

 private:
  std::vector<SearchCandidate> candidates_;
  SearchOptions options_;
  std::vector<Finding> findings_;
  std::vector<std::vector<double>> joint_;
};

}  // namespace gla_bench::search
