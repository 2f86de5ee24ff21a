#pragma once
// The problems of a config, one search each: what `tune` does.

#include <array>
#include <span>

#include "harness/search/live.hpp"
#include "harness/support/progress.hpp"

namespace gla_bench::search {

/// What is searched for, at what cost, and where.
struct TuneRequest {
  WorkConditions conditions;
  Strategy strategy = Strategy::halving;
  Budget budget;         ///< of each problem
  SearchOptions search;  ///< its seed, rates and timing are those of the request; the timing
                         ///< policy's max_samples bounds its most_samples
  std::uint64_t seed = 1;
  /// A signal that has come, or nothing: ends the search in hand, with everything kept.
  std::function<std::optional<int>()> signal;
};

/// What a problem's search came to.
struct SearchedProblem {
  Problem problem;
  std::size_t candidates = 0, tried = 0;
  std::optional<Record> best;  ///< right and measured; nothing where none is
  std::size_t ties = 0;        ///< others that stayed to the end
};

struct TuneEnd {
  std::vector<SearchedProblem> problems;
  Breakdown breakdown;
  int signal = 0;
};

/// Searches each problem; `journal` sees steps and records as they come, a later record of a
/// candidate in the place of an earlier one. Every candidate ends with a record: measured, failed,
/// or left_out and why. @throws WorkerError where no worker can be kept alive, and what hooks throw
TuneEnd tune(WorkerClient& client, std::span<const Assignment> work, const TuneRequest& request,
             const LiveHooks& journal, Progress& progress);

/// Takes out the problems whose search has come to its end in these records, and of the others the
/// candidates that are known to fail. How many problems are done.
std::size_t drop_searched(std::vector<Assignment>& work, std::span<const Record> recorded);

/// The records of a search that is over: those that the measurer has, with times and how they left.
std::vector<Record> searched_records(const Assignment& work, std::span<const Record> measured,
                                     const Searcher& searcher, Strategy strategy,
                                     const std::string& stopped, const SpeedLimit& speed);

/// The breakdown for a results file's environment: tune_seconds, tune_candidates_per_minute, ...
Facts facts_of(const Breakdown& breakdown);

/// For people: a line per problem, and where the time went.
std::string tune_report(const TuneEnd& end);

}  // namespace gla_bench::search
