#include "harness/report_best.hpp"

#include "harness/contests.hpp"
#include "harness/numbers.hpp"

namespace gla_bench {
namespace {

std::string against(const Entrant* other, const Entrant& winner) {
  if (other == nullptr) return "-";
  return other->record->variant + " " + format_times(other->ms() / winner.ms());
}

std::vector<std::string> line_of(const Contest& contest) {
  const auto [group, rest] = name_of(contest.problem);
  const Entrant* winner = contest.winner();
  if (winner == nullptr) return {group, rest, "nothing right was timed", "", "", "", "", ""};
  return {group,
          rest,
          winner->record->variant,
          winner->record->tile.empty() ? "-" : describe(winner->record->tile),
          format_number(winner->ms(), "%.4g"),
          format_percent(contest.of_floor()),
          against(contest.next(), *winner),
          against(contest.peer ? &*contest.peer : nullptr, *winner)};
}

}  // namespace

Table best_table(std::span<const Results> files) {
  Table table;
  table.columns = {{"operator", false}, {"problem", false}, {"fastest", false}, {"tile", false},
                   {"ms", true},        {"of floor", true}, {"next", false},    {"peer", false}};
  for (const Contest& contest : contests_of(files)) table.rows.push_back(line_of(contest));
  return table;
}

}  // namespace gla_bench
