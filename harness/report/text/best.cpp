#include "harness/report/text/best.hpp"

#include "harness/records/contest.hpp"
#include "harness/report/bound_by.hpp"
#include "harness/report/shown_name.hpp"
#include "harness/report/stale.hpp"
#include "harness/report/text/section_parts.hpp"
#include "harness/support/numbers.hpp"

namespace gla_bench {
namespace {

std::string name_of(const Entrant& entrant) {
  return shown_name(*entrant.record) + (is_stale(*entrant.record) ? " (stale)" : "");
}

std::string against(const Entrant* other) {
  if (other == nullptr) return "-";
  return (other->tied && !other->record->peer ? "= " : "") + name_of(*other) + " " +
         format_times(other->over_winner.ratio);
}

std::vector<std::string> line_of(const Contest& contest, const std::string& problem) {
  const Entrant* winner = contest.winner();
  if (winner == nullptr) return {problem, "nothing right was timed", "", "", "", "", "", ""};
  const BoundVerdict bound = bound_by(*winner->record, winner->file->environment);
  return {problem,
          name_of(*winner),
          format_ms(winner->ms()),
          format_percent(contest.of_floor()),
          bound.by ? std::string(name(*bound.by)) : "-",
          against(contest.next()),
          against(contest.peer()),
          winner->record->tile.empty() ? "-" : describe(winner->record->tile)};
}

}  // namespace

std::vector<BestTable> best_tables(std::span<const Results> files) {
  std::vector<BestTable> tables;
  const auto contests = contests_of(files);
  for (const ContestGroup& group : groups_of(contests)) {
    Table table;
    table.columns = {{"problem"},
                     {"fastest"},
                     {"ms", true},
                     {"of floor", true, 4},
                     {"bound by", false, 2},
                     {"next", false, 3},
                     {"peer", false, 5},
                     {"tile", false, 1}};
    for (std::size_t i = 0; i < group.contests.size(); ++i)
      table.rows.push_back(line_of(*group.contests[i], group.problems[i]));
    tables.push_back({group.name + (group.shared.empty() ? "" : ", " + group.shared),
                      table.without_empty_columns()});
  }
  return tables;
}

}  // namespace gla_bench
