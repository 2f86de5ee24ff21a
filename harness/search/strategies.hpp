#pragma once
// The strategies behind make_searcher().

#include <random>

#include "harness/search/pool.hpp"

namespace gla_bench::search {

/// What all strategies do the same way.
class PoolSearcher : public Searcher {
 public:
  PoolSearcher(std::vector<SearchCandidate> candidates, const SearchOptions& options)
      : pool_(std::move(candidates), options), random_(options.seed) {}

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
  /// A batch of the same number of samples of each.
  Batch batch(const std::vector<std::size_t>& candidates, int samples, bool joint);
  /// A number below `count`: the same everywhere, which the standard's distributions are not.
  std::size_t draw(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  std::vector<std::size_t> shuffled(std::vector<std::size_t> list);

  Pool pool_;
  std::mt19937_64 random_;
  bool joint_ = false;  ///< of the present batch
};

/// Blocks of candidates, each measured in turns until the timing policy is content.
class Exhaustive final : public PoolSearcher {
 public:
  Exhaustive(std::vector<SearchCandidate> candidates, const SearchOptions& options);
  Batch next() override;
  std::vector<std::size_t> outlook() const override { return waiting_; }

 private:
  std::vector<std::size_t> unsettled() const;
  std::vector<std::size_t> waiting_, block_;
};

/// A cheap look at some candidates, then the race: batches in turns, each twice as long as the one
/// before, of those that are not clear of the best; every time at most half of them go on.
class Halving : public PoolSearcher {
 public:
  using PoolSearcher::PoolSearcher;
  Batch next() final;

 protected:
  /// Candidates to look at next; none: enough have been looked at.
  virtual std::vector<std::size_t> look() = 0;

 private:
  Batch race();
  bool is_settled(const std::vector<std::size_t>& field) const;
  bool racing_ = false;
  std::size_t most_ = 0;  ///< that may go on
  int samples_ = 2, taken_ = 0;
};

class HalveAll final : public Halving {
 public:
  using Halving::Halving;

 private:
  std::vector<std::size_t> look() override;
  bool looked_ = false;
};

class Random final : public Halving {
 public:
  using Halving::Halving;

 private:
  std::vector<std::size_t> look() override;
  bool looked_ = false;
};

class Local final : public Halving {
 public:
  Local(std::vector<SearchCandidate> candidates, const SearchOptions& options);

 private:
  std::vector<std::size_t> look() override;
  std::vector<std::size_t> start();
  std::vector<std::size_t> neighbours(std::size_t of) const;
  std::vector<std::size_t> unvisited() const;
  std::size_t visits_left() const;
  std::vector<bool> visited_;
  std::optional<std::size_t> centre_;  ///< whose neighbours were looked at last
};

}  // namespace gla_bench::search
