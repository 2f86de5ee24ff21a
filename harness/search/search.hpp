#pragma once
// The search of one problem: a searcher decides, a measurer measures, and a budget ends it.

#include <functional>
#include <random>
#include <set>

#include "harness/search/searcher.hpp"
#include "harness/search/stop_condition.hpp"

namespace gla_bench::search {

/// A measurer reports its results to this, and asks it before it spends any time.
class Search {
 public:
  /// `seconds`: how long the search has taken so far.
  Search(Searcher& searcher, const Budget& budget, std::function<double()> seconds);

  /// Asked before any time is spent on a candidate. False: it is left out and is not to be
  /// measured.
  bool admits(std::size_t candidate);
  /// How many candidates may still be tried that were not tried before.
  std::size_t room() const;
  /// The candidate is being tried now.
  void trying(std::size_t candidate) { tried_.insert(candidate); }
  void tell(std::size_t candidate, std::span<const double> seconds);
  void fail(std::size_t candidate);

  /// True where nothing more is to be measured.
  bool is_over();
  /// A signal arrived, so the search is over.
  void interrupt() { interrupted_ = true; }

  /// Why candidates were not tried, or not measured further; empty where no budget was used up.
  const std::string& stop_text() const { return stop_text_; }
  Spent spent() const { return {seconds_(), tried_.size()}; }
  const Searcher& searcher() const { return searcher_; }

 private:
  BudgetState state();

  Searcher& searcher_;
  Budget budget_;
  std::vector<std::unique_ptr<StopCondition>> conditions_;
  std::function<double()> seconds_;
  std::set<std::size_t> tried_;
  std::string stop_text_;
  bool interrupted_ = false;
};

class Measurer {
 public:
  virtual ~Measurer() = default;
  /// Takes the samples of a batch and reports each to the search as it comes. Ends early where the
  /// search is over. `outlook` lists what will be asked for next, as far as known.
  virtual void measure(const Batch& batch, const std::vector<std::size_t>& outlook,
                       Search& search) = 0;
};

/// Asks the searcher, measures and tells it the results until the searcher or the budget ends.
void run_search(Searcher& searcher, Search& search, Measurer& measurer);

/// Several samples of one candidate in a row. The first ones are discarded, since they carry the
/// cost of changing the candidate.
struct Turn {
  std::size_t candidate = 0;
  int discarded = 0, kept = 1;
};

/// The turns of a joint batch. Each round takes up to four samples of every candidate that still
/// lacks some. The order is drawn anew in each round, so that no candidate always follows the same
/// one.
std::vector<Turn> turns_of(const Batch& batch, std::mt19937_64& random);

}  // namespace gla_bench::search
