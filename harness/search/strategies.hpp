#pragma once
// The strategies behind make_searcher().

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "harness/search/pool.hpp"
#include "harness/search/surrogate.hpp"

namespace gla_bench::search {

/// What all strategies have in common.
class PoolSearcher : public Searcher {
 public:
  PoolSearcher(std::vector<SearchCandidate> candidates, const SearchOptions& options)
      : pool_(std::move(candidates), options) {}

  std::vector<std::size_t> outlook() const override { return {}; }
  bool wanted(std::size_t candidate) override { return pool_.wanted(candidate); }
  void tell(std::size_t candidate, std::span<const double> seconds) override {
    pool_.add(candidate, seconds, joint_);
  }
  void fail(std::size_t candidate) override { pool_.leave(candidate, Left::failed); }
  void skip(std::size_t candidate) override { pool_.leave(candidate, Left::stopped); }
  void stop() override { pool_.close(Left::stopped, Left::stopped); }
  const std::vector<Finding>& findings() const override { return pool_.findings(); }
  std::optional<std::size_t> best() const override { return pool_.best(); }
  double best_seconds() const override { return pool_.seconds(*pool_.best()); }

 protected:
  /// A batch with the same number of samples of each candidate.
  Batch batch(const std::vector<std::size_t>& candidates, int samples, bool joint);

  Pool pool_;
  bool joint_ = false;  ///< whether the present batch is joint
};

/// Takes candidates in blocks and samples each in turns until the timing policy is satisfied, or a
/// first look shows that it is clearly slower than the best, where options say so. Their order is
/// drawn, so that what a budget lets through is a sample of the space.
class Exhaustive final : public PoolSearcher {
 public:
  Exhaustive(std::vector<SearchCandidate> candidates, const SearchOptions& options);
  Batch next() override;
  std::vector<std::size_t> outlook() const override { return waiting_; }

 private:
  std::vector<std::size_t> unsettled() const;
  void drop_the_clearly_slower(double share);
  std::vector<std::size_t> waiting_, block_;
  bool looked_ = true;  ///< whether the block needs no first look any more
};

/// Looks at the candidates that promise most, once each, until nothing better is expected. Then
/// races them: a race has batches sampled in turns, each twice as long as the one before.
/// Candidates that are not clearly slower than the best go on, at most half of them each time.
class Guided final : public PoolSearcher {
 public:
  Guided(std::vector<SearchCandidate> candidates, const SearchOptions& options);
  Batch next() override;
  std::vector<std::size_t> outlook() const override { return outlook_; }

 private:
  /// The candidates to look at next; none: enough have been looked at.
  std::vector<std::size_t> look();
  std::size_t first() const;
  std::vector<std::size_t> most_promising(std::size_t count, double least) const;
  std::vector<std::size_t> next_after_failures(std::size_t count) const;
  std::map<std::string, double> chances_of_being_right() const;
  Batch race();
  bool is_settled(const std::vector<std::size_t>& field) const;

  Surrogate surrogate_;
  std::vector<bool> visited_;
  std::vector<std::size_t> outlook_;
  double best_log_ = std::numeric_limits<double>::infinity();  ///< log2 of the best time seen
  bool racing_ = false;
  std::size_t most_ = 0;  ///< the most candidates that may go on
  int samples_ = 2, taken_ = 0;
};

}  // namespace gla_bench::search
