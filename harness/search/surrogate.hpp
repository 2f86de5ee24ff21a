#pragma once
// What is known of the times of a problem's candidates: predictions of a cost model, corrected by
// the times that the search has seen so far. A Gaussian process over the errors of the predictions,
// which are alike for tiles that are alike (Rasmussen and Williams, "Gaussian Processes for Machine
// Learning", 2006, chapter 2). Numbers only.

#include <cstddef>
#include <vector>

#include "harness/search/searcher.hpp"

namespace gla_bench::search {

/// log2 of a time in seconds, as far as it is known.
struct Belief {
  double mean = 0, deviation = 0;
};

/// How many log2 a candidate is expected to be below `best`; never negative. 0.0144 is 1 % of the
/// time.
double expected_improvement(const Belief& belief, double best);

class Surrogate {
 public:
  /// Without a prediction a candidate is expected at the largest that there is.
  explicit Surrogate(const std::vector<SearchCandidate>& candidates);

  /// A candidate's time was seen, or is assumed. Later calls replace earlier ones.
  void observe(std::size_t candidate, double seconds);
  void forget(std::size_t candidate);

  /// Beliefs of all candidates, by their number.
  std::vector<Belief> beliefs() const;

  double predicted(std::size_t candidate) const { return mean_[candidate]; }

 private:
  double covariance(std::size_t a, std::size_t b) const;
  double scale_of_errors() const;

  std::vector<int> variant_;             ///< by candidate
  std::vector<std::vector<int>> place_;  ///< of its values on their axes, by candidate
  std::vector<double> mean_, deviation_;
  std::vector<std::size_t> seen_;
  std::vector<double> errors_;  ///< of those that were seen: time over prediction, log2
};

}  // namespace gla_bench::search
