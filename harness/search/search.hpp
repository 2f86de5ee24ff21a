#pragma once
// One problem's search: a searcher that decides, a measurer that measures, a budget that ends it.

#include <functional>
#include <random>
#include <set>

#include "harness/search/searcher.hpp"
#include "harness/search/stop_condition.hpp"

namespace gla_bench::search {

/// What a measurer reports to, and asks before it spends anything.
class Search {
 public:
  /// `seconds`: what the search has taken so far.
  Search(Searcher& searcher, const Budget& budget, std::function<double()> seconds);

  /// Asked before a candidate costs anything. False: it is left out, and is not to be measured.
  bool admits(std::size_t candidate);
  /// So many candidates may still be tried that were not tried before.
  std::size_t room() const;
  /// It is being tried now.
  void trying(std::size_t candidate) { tried_.insert(candidate); }
  void tell(std::size_t candidate, std::span<const double> seconds);
  void fail(std::size_t candidate);

  /// Nothing more is to be measured.
  bool is_over();
  /// A signal came: it is over.
  void interrupt() { interrupted_ = true; }

  /// Why candidates were not tried, or measured further; empty where no budget was used up.
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
  /// Takes the samples of a batch, tells the search of each as it comes, and ends early where the
  /// search is over. `outlook`: what will be asked for next, as far as that is known.
  virtual void measure(const Batch& batch, const std::vector<std::size_t>& outlook,
                       Search& search) = 0;
};

/// Asks, measures and tells until the searcher or the budget has come to its end.
void run_search(Searcher& searcher, Search& search, Measurer& measurer);

/// Some samples of one candidate in a row; the first so many are not kept: they pay for the change
/// of candidate.
struct Turn {
  std::size_t candidate = 0;
  int discarded = 0, kept = 1;
};

/// The turns of a joint batch: rounds of up to four samples a candidate, in each round all that
/// still lack samples, in an order drawn anew, so that no candidate always follows the same.
std::vector<Turn> turns_of(const Batch& batch, std::mt19937_64& random);

}  // namespace gla_bench::search
