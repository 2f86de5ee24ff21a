#pragma once
// Searches each problem of a config. This is what `tune` does.

#include <array>
#include <span>

#include "harness/cost_model/predictor.hpp"
#include "harness/search/live.hpp"
#include "harness/support/progress.hpp"

namespace gla_bench::search {

/// What is searched for, at what cost, and where.
struct TuneRequest {
  WorkConditions conditions;
  Strategy strategy = Strategy::guided;
  /// What predicts the candidates' times; nothing: the search knows nothing of them.
  std::optional<cost_model::Predictor> predictor;
  /// What `auto` takes for a problem, with which its search begins; may be null. Nothing where it
  /// takes none of the candidates.
  std::function<std::optional<Candidate>(const Assignment&)> start;
  Budget budget;         ///< of each problem, from the first verified candidate on
  SearchOptions search;  ///< its seed, rates and timing are those of the request; the timing
                         ///< policy's max_samples bounds its most_samples
  std::uint64_t seed = 1;
  /// The problem that will be searched next, or null; may be null itself. What its search begins
  /// with is compiled during this one.
  std::function<const Assignment*()> upcoming;
  /// Returns a signal that has arrived, or nothing. A signal ends the current search, and all
  /// results are kept.
  std::function<std::optional<int>()> signal;
};

/// The result of a problem's search.
struct SearchedProblem {
  Problem problem;
  std::size_t candidates = 0, tried = 0;
  std::optional<Record> best;  ///< the fastest that is right and measured; nothing where none is
  std::size_t ties = 0;        ///< number of other candidates that stayed to the end
  double seconds = 0;          ///< that the search took, with reference, compiling and verifying
  std::size_t right = 0;  ///< that were verified, whether the search came to measure them or not
};

struct TuneEnd {
  std::vector<SearchedProblem> problems;
  Breakdown breakdown;
  int signal = 0;
};

/// Searches each problem. `journal` receives steps and records as they come; a later record of a
/// candidate replaces an earlier one. Every candidate ends with a record: measured, failed, or
/// left_out with the reason. @throws WorkerError where no worker can be kept alive, and what hooks
/// throw
TuneEnd tune(WorkerClient& client, std::span<const Assignment> work, const TuneRequest& request,
             const LiveHooks& journal, Progress& progress);

/// Removes the problems whose search is complete in these records. From the others it removes the
/// candidates that are known to fail. Returns how many problems are complete.
std::size_t drop_searched(std::vector<Assignment>& work, std::span<const Record> recorded);

/// The records of a finished search: those that the measurer has, with times and how the search
/// left each. `speed` gives the copy rate and the cache; the least bytes are the problem's.
std::vector<Record> searched_records(const Assignment& work, std::span<const Record> measured,
                                     const Searcher& searcher, Strategy strategy,
                                     const std::string& stopped, const SpeedLimit& speed);

/// The breakdown for a results file's environment: tune_seconds, tune_candidates_per_minute, ...
Facts facts_of(const Breakdown& breakdown);

/// A report for people: a line per problem, and where the time went.
std::string tune_report(const TuneEnd& end);

}  // namespace gla_bench::search
