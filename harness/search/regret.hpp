#pragma once
// What `auto` and a search cost over the best of all candidates, on problems that are drawn from a
// config and whose every candidate is then measured.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/search/tune.hpp"

namespace gla_bench::search {

/// Draws `count` of `all` things without putting back: their places, in order. All of them where
/// there are not more. The same seed draws the same on every machine.
std::vector<std::size_t> drawn_places(std::size_t all, std::size_t count, std::uint64_t seed);

/// What a choice costs over the best candidate.
struct Cost {
  std::optional<std::string> choice;  ///< variant and tile; nothing where none was chosen
  std::optional<double> regret;       ///< its time over the best one's, less 1
  std::string unknown;                ///< why there is no regret
};

struct JudgedProblem {
  Problem problem;
  std::size_t candidates = 0;  ///< how many are right and were measured
  std::string best;            ///< variant and tile
  double best_ms = 0;
  Cost by_auto, by_search;
  std::size_t tried = 0;      ///< candidates that the search tried
  double search_seconds = 0;  ///< with its reference, compiling and verifying
};

/// All records of the exhaustive search, the last of each candidate.
using MeasuredAll = std::map<RecordKey, Record>;

/// One row for each problem that was measured whole and that has a right candidate. `choices` has
/// what `auto` takes for each problem of `searched`, in the same order.
std::vector<JudgedProblem> judge_searches(std::span<const SearchedProblem> searched,
                                          std::span<const std::optional<Candidate>> choices,
                                          std::size_t measured_whole, const MeasuredAll& records);

/// Over the problems on which it is known; NaN where there are none.
struct Regrets {
  std::size_t problems = 0, within_2_percent = 0, unknown = 0;
  double median = 0, p90 = 0, worst = 0;
};
Regrets regrets_of(std::span<const JudgedProblem> problems, Cost JudgedProblem::*by);

/// A report for people.
std::string judgement_report(std::span<const JudgedProblem> problems, bool markdown,
                             std::size_t width = 0);

}  // namespace gla_bench::search
