#pragma once
// Replays searches on recorded times, to show what a strategy would have found and what it would
// have cost.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/records/record_file.hpp"
#include "harness/search/search.hpp"

namespace gla_bench::search {

/// One problem's candidates, with the samples that an exhaustive measurement took of them.
struct RecordedProblem {
  std::string file;
  Problem problem;
  std::vector<SearchCandidate> candidates;
  /// Seconds, by candidate; empty for one that failed (wrong, crashed, ...).
  std::vector<std::vector<double>> samples;
  std::vector<double> compile_seconds;  ///< core seconds, by candidate
  double copy_bytes_per_second = 0, last_level_cache = 0;

  std::size_t best() const;
  double median_seconds(std::size_t candidate) const;
  /// The seconds that all samples took together.
  double exhaustive_seconds() const;
};

/// Gives the candidates predictions of models that saw no problem of their shape: learnt from the
/// files and from `others`, by cross-validation (cost_model/learn.hpp). Candidates of the host get
/// none.
void predict_without_own_shape(std::vector<RecordedProblem>& problems,
                               std::span<const Results> files, std::span<const Results> others);

/// Problems with at least two measured candidates, in the order of the files. Rows of other
/// programs (peers) and rows that only a search has sampled are left out.
std::vector<RecordedProblem> recorded_problems(std::span<const Results> files);

/// Draws from the recorded samples, with replacement, and adds up the time that they take.
class ReplayMeasurer final : public Measurer {
 public:
  ReplayMeasurer(const RecordedProblem& recorded, std::uint64_t seed)
      : recorded_(recorded), random_(seed) {}

  void measure(const Batch& batch, const std::vector<std::size_t>& outlook,
               Search& search) override;

  double seconds() const { return seconds_; }
  /// Core seconds of all that was asked for or named as what comes next.
  double compile_seconds() const;
  std::size_t samples() const { return samples_; }

 private:
  void take(const Turn& turn, Search& search);
  double draw(std::size_t candidate);

  const RecordedProblem& recorded_;
  std::mt19937_64 random_;
  double seconds_ = 0;
  std::size_t samples_ = 0;
  std::set<std::size_t> compiled_;
};

/// The result of one search.
struct Replayed {
  std::optional<std::size_t> found;
  double regret = 0;  ///< recorded median of its choice over that of the recorded best, minus 1;
                      ///< 0.02: 2 % slower
  std::size_t tried = 0;  ///< number of candidates
  std::size_t samples = 0;
  double compile_seconds = 0;  ///< core seconds
  double share = 0;            ///< its time as a share of the exhaustive measurement's
};

Replayed replay(const RecordedProblem& recorded, Strategy strategy, const Budget& budget,
                std::uint64_t seed);

/// One line per problem: median and worst over the seeds 1.. `seeds` from `first_seed` on.
std::string replay_table(std::span<const RecordedProblem> problems, Strategy strategy,
                         const Budget& budget, std::uint64_t first_seed, int seeds);

}  // namespace gla_bench::search
