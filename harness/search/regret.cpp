#include "harness/search/regret.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>

#include "core/candidate_name.hpp"
#include "harness/records/contest.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/support/table.hpp"

namespace gla_bench::search {
namespace {

constexpr double close = 0.02;

Cost cost_of(const std::string& variant, const Tile& tile,
             const std::map<std::pair<std::string, Tile>, const Record*>& rows, double best_ms) {
  Cost cost;
  cost.choice = candidate_name(variant, tile);
  const auto found = rows.find({variant, tile});
  if (found == rows.end())
    cost.unknown = "it is none of the candidates";
  else if (!may_be_compared(*found->second))
    cost.unknown = std::string(name(found->second->status));
  else
    cost.regret = found->second->timing->cold.median_ms / best_ms - 1;
  return cost;
}

std::string regret_text(const Cost& cost) {
  return cost.regret ? format_percent(*cost.regret) : cost.unknown;
}

std::string summary(const std::string& who, const Regrets& regrets) {
  std::string text = who + ": ";
  if (regrets.problems == 0)
    text += "nothing is known";
  else
    text += "median " + format_percent(regrets.median) + ", 90 % of them at most " +
            format_percent(regrets.p90) + ", worst " + format_percent(regrets.worst) + "; " +
            std::to_string(regrets.within_2_percent) + " of " + std::to_string(regrets.problems) +
            " within 2 %";
  if (regrets.unknown > 0)
    text += "; of " + std::to_string(regrets.unknown) + " more there is no time";
  return text + "\n";
}

}  // namespace

std::vector<std::size_t> drawn_places(std::size_t all, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> places(all);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  count = std::min(count, all);
  for (std::size_t i = 0; i < count; ++i)
    std::swap(places[i], places[i + static_cast<std::size_t>(random() % (all - i))]);
  places.resize(count);
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<JudgedProblem> judge_searches(std::span<const SearchedProblem> searched,
                                          std::span<const std::optional<Candidate>> choices,
                                          std::size_t measured_whole, const MeasuredAll& records) {
  std::map<Problem, std::map<std::pair<std::string, Tile>, const Record*>> known;
  for (const auto& [key, record] : records)
    known[record.problem][{record.variant, record.tile}] = &record;
  std::vector<JudgedProblem> list;
  for (std::size_t i = 0; i < std::min(searched.size(), measured_whole); ++i) {
    const SearchedProblem& one = searched[i];
    const auto& rows = known[one.problem];
    JudgedProblem judged;
    judged.problem = one.problem;
    judged.tried = one.tried;
    judged.search_seconds = one.seconds;
    judged.best_ms = std::numeric_limits<double>::infinity();
    for (const auto& [name, record] : rows) {
      judged.candidates += may_be_compared(*record) ? 1 : 0;
      if (!may_win(*record)) continue;
      const double ms = record->timing->cold.median_ms;
      if (!(ms < judged.best_ms)) continue;
      judged.best_ms = ms;
      judged.best = candidate_name(name.first, name.second);
    }
    if (judged.candidates == 0) continue;
    if (choices[i])
      judged.by_auto = cost_of(choices[i]->variant->name, choices[i]->tile, rows, judged.best_ms);
    else
      judged.by_auto.unknown = "auto takes none";
    if (one.best)
      judged.by_search = cost_of(one.best->variant, one.best->tile, rows, judged.best_ms);
    else
      judged.by_search.unknown = "the search found none";
    list.push_back(std::move(judged));
  }
  return list;
}

Regrets regrets_of(std::span<const JudgedProblem> problems, Cost JudgedProblem::*by) {
  Regrets regrets;
  std::vector<double> list;
  for (const JudgedProblem& one : problems) {
    const Cost& cost = one.*by;
    if (!cost.regret) {
      ++regrets.unknown;
      continue;
    }
    list.push_back(*cost.regret);
    regrets.within_2_percent += *cost.regret <= close ? 1 : 0;
  }
  regrets.problems = list.size();
  regrets.median = quantile(list, 0.5);
  regrets.p90 = quantile(list, 0.9);
  regrets.worst = quantile(list, 1);
  return regrets;
}

std::string judgement_report(std::span<const JudgedProblem> problems, bool markdown,
                             std::size_t width) {
  Table table{{{"problem"},
               {"best of all", false, 2},
               {"ms", true},
               {"of", true},
               {"auto takes", false, 1},
               {"auto", true},
               {"search", true},
               {"tried", true},
               {"seconds", true}},
              {}};
  for (const JudgedProblem& one : problems) {
    std::ostringstream seconds;
    seconds.precision(1);
    seconds << std::fixed << one.search_seconds;
    table.rows.push_back({describe(one.problem), one.best, format_ms(one.best_ms),
                          std::to_string(one.candidates), one.by_auto.choice.value_or("-"),
                          regret_text(one.by_auto), regret_text(one.by_search),
                          std::to_string(one.tried), seconds.str()});
  }
  std::string text = markdown ? table.markdown() : table.text(width);
  text += "\nOver the best of all candidates, " + std::to_string(problems.size()) +
          " problems measured whole:\n";
  text += summary("auto", regrets_of(problems, &JudgedProblem::by_auto));
  text += summary("search", regrets_of(problems, &JudgedProblem::by_search));
  return text;
}

}  // namespace gla_bench::search
