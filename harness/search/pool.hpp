#pragma once
// What a search knows of its candidates. All strategies share it.

#include "harness/search/searcher.hpp"

namespace gla_bench::search {

class Pool {
 public:
  Pool(std::vector<SearchCandidate> candidates, const SearchOptions& options);

  const std::vector<SearchCandidate>& candidates() const { return candidates_; }
  const SearchOptions& options() const { return options_; }
  const std::vector<Finding>& findings() const { return findings_; }
  std::size_t size() const { return candidates_.size(); }

  bool is_open(std::size_t candidate) const { return findings_[candidate].left == Left::searched; }
  bool is_measured(std::size_t candidate) const { return !findings_[candidate].samples.empty(); }
  std::vector<std::size_t> open_and_measured() const;

  /// Samples taken in turns with other candidates are kept apart, since only they can be compared
  /// without drift.
  void add(std::size_t candidate, std::span<const double> seconds, bool joint);
  void count_round(std::size_t candidate) { ++findings_[candidate].rounds; }

  /// The joint samples where there are any, else all samples.
  std::span<const double> judged(std::size_t candidate) const;
  double seconds(std::size_t candidate) const;

  /// The fastest candidate that has not failed, among those that reached the furthest stage.
  std::optional<std::size_t> best() const;
  /// Returns false and leaves the candidate out where moving its modelled bytes alone takes longer
  /// than the best.
  bool wanted(std::size_t candidate);

  void leave(std::size_t candidate, Left left, bool crowded_out = false);
  /// Every candidate that is clearly slower than the best leaves.
  void drop_the_slower(double drift);
  /// At most this many of the open and measured candidates stay, the fastest ones.
  void crowd_out(std::size_t most);
  /// All remaining candidates leave: measured ones as `measured`, the others as `others`.
  void close(Left measured, Left others);

 private:
  std::vector<SearchCandidate> candidates_;
  SearchOptions options_;
  std::vector<Finding> findings_;
  std::vector<std::vector<double>> joint_;
};

}  // namespace gla_bench::search
