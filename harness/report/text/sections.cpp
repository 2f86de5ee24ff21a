#include "harness/report/text/sections.hpp"

#include <algorithm>
#include <cmath>

#include "harness/report/bound_by.hpp"
#include "harness/report/shown_name.hpp"
#include "harness/report/text/measured.hpp"
#include "harness/report/text/section_parts.hpp"
#include "harness/report/time_figures.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

std::string tile_of(const Record& record) {
  return record.tile.empty() ? "-" : describe(record.tile);
}

std::string open_table(const Table& table) {
  return table.rows.empty() ? "Nothing right was timed.\n\n" : table.markdown() + "\n";
}

using Lines = std::vector<std::vector<std::string>>;

/// One table for each group, under the group's name. `add_lines` adds the lines of each contest and
/// is given the problem's name.
template <typename AddLines>
std::string tables_of(const std::vector<ContestGroup>& groups, const std::vector<Column>& columns,
                      const AddLines& add_lines) {
  std::string text;
  for (const ContestGroup& group : groups) {
    Table table{columns, {}};
    for (std::size_t i = 0; i < group.contests.size(); ++i)
      add_lines(*group.contests[i], group.problems[i], table.rows);
    if (table.rows.empty()) continue;
    const std::string name = group.name + (group.shared.empty() ? "" : ", " + group.shared);
    if (table.rows.size() <= open_lines) text += "**" + markdown_text(name) + "**\n\n";
    text += foldable(table, name + ": " + counted(table.rows.size(), "line"));
  }
  return text;
}

/// "chunk_fused 1.84x (1.80 to 1.88)", or "= chunk_fused" where the two cannot be told apart.
std::string next_of(const Contest& contest) {
  const Entrant* next = contest.next();
  if (next == nullptr) return "-";
  if (next->tied) return "= " + shown_name(*next->record);
  return shown_name(*next->record) + " " + format_times(next->over_winner.ratio) + " (" +
         format_factor(next->over_winner.low) + " to " + format_factor(next->over_winner.high) +
         ")";
}

std::vector<std::string> winners_of(const ContestGroup& group) {
  std::vector<std::string> names;
  for (const Contest* contest : group.contests)
    names.push_back(contest->winner() == nullptr ? "nothing right was timed"
                                                 : shown_name(*contest->winner()->record));
  return names;
}

std::vector<std::string> winners_line(const ContestGroup& group) {
  std::vector<double> factors;
  std::size_t ties = 0;
  for (const Contest* contest : group.contests) {
    if (contest->next() == nullptr) continue;
    factors.push_back(contest->next()->over_winner.ratio);
    ties += contest->next()->tied ? 1 : 0;
  }
  return {group.name, std::to_string(group.contests.size()), tally(winners_of(group)),
          format_times(median_known(factors)), std::to_string(ties)};
}

BoundVerdict bound_of(const Contest& contest) {
  return bound_by(*contest.winner()->record, contest.winner()->file->environment);
}

std::string bound_name(const BoundVerdict& verdict) {
  return verdict.by ? std::string(name(*verdict.by)) : "not known";
}

double bytes_over_floor(const Record& record) {
  const RoofFigures figures = roof_figures(record, {});
  return figures.bytes_from == BytesFrom::floor ? unknown_number
                                                : figures.bytes / record.io.floor_bytes;
}

/// "1.42 counted", "1.00 modelled"
std::string bytes_text(const Record& record) {
  if (std::isnan(bytes_over_floor(record))) return "-";
  const bool counts = roof_figures(record, {}).bytes_from == BytesFrom::counted;
  return format_factor(bytes_over_floor(record)) + (counts ? " counted" : " modelled");
}

/// The largest share of its bound that any output uses.
double share_of_bound(const Record& record) {
  double most = unknown_number;
  if (!record.verification) return most;
  for (const auto& [tensor, verdict] : record.verification->tensors) {
    const double share = verdict.rel_l2 / verdict.bound;
    if (!(share <= most)) most = share;
  }
  return most;
}

double joules_of(const Record& record) {
  return record.energy ? record.energy->joules_per_call.value_or(unknown_number) : unknown_number;
}

void add_costs(const Contest& contest, const std::string& problem, Lines& rows) {
  for (const Entrant& entrant : contest.entrants) {
    const Record& record = *entrant.record;
    rows.push_back({problem, shown_name(record), format_ms(entrant.ms()), bytes_text(record),
                    format_bytes(record.io.workspace_bytes), format_percent(share_of_bound(record)),
                    format_joules(joules_of(record))});
  }
}

/// A line for each variant of a group: medians and extremes over its problems.
void add_cost_lines(const ContestGroup& group, Table& table) {
  std::vector<std::string> variants;
  for (const Contest* contest : group.contests)
    for (const Entrant& entrant : contest->entrants)
      if (const std::string name = shown_name(*entrant.record);
          std::find(variants.begin(), variants.end(), name) == variants.end())
        variants.push_back(name);
  for (const std::string& variant : variants) {
    std::vector<double> bytes, workspace, shares, joules;
    for (const Contest* contest : group.contests)
      for (const Entrant& entrant : contest->entrants) {
        if (shown_name(*entrant.record) != variant) continue;
        bytes.push_back(bytes_over_floor(*entrant.record));
        workspace.push_back(entrant.record->io.workspace_bytes);
        shares.push_back(share_of_bound(*entrant.record));
        joules.push_back(joules_of(*entrant.record));
      }
    table.rows.push_back(
        {group.name, variant, std::to_string(bytes.size()), format_factor(median_known(bytes)),
         format_bytes(largest_known(workspace)), format_percent(largest_known(shares)),
         format_joules(median_known(joules))});
  }
}

std::vector<std::string> floor_line(const ContestGroup& group) {
  std::vector<double> shares, ratios;
  for (const Contest* contest : group.contests) {
    shares.push_back(contest->of_floor());
    if (contest->peer() != nullptr && contest->winner() != nullptr)
      ratios.push_back(contest->peer()->over_winner.ratio);
  }
  return {group.name,
          format_percent(median_known(shares)),
          format_percent(largest_known(shares)),
          std::to_string(ratios.size()),
          format_times(ratios.empty() ? unknown_number
                                      : *std::min_element(ratios.begin(), ratios.end())),
          format_times(median_known(ratios))};
}

}  // namespace

std::string winners_section(std::span<const Contest> contests) {
  const auto groups = groups_of(contests);
  Table summary{
      {{"operator"}, {"problems", true}, {"wins"}, {"next, median", true}, {"ties", true}}, {}};
  for (const ContestGroup& group : groups) summary.rows.push_back(winners_line(group));
  return section_head("Winners", "Which variant wins where, and by how much?") +
         open_table(summary) +
         tables_of(
             groups,
             {{"problem"}, {"fastest"}, {"tile"}, {"ms", true}, {"next, its time over that"}},
             [](const Contest& contest, const std::string& problem, Lines& rows) {
               if (const Entrant* winner = contest.winner())
                 rows.push_back({problem, shown_name(*winner->record), tile_of(*winner->record),
                                 format_ms(winner->ms()), next_of(contest)});
               else
                 rows.push_back({problem, "nothing right was timed", "", "", ""});
             });
}

std::string why_section(std::span<const Contest> contests) {
  const auto groups = groups_of(contests);
  Table summary{{{"operator"}, {"winners are bound by"}}, {}};
  for (const ContestGroup& group : groups) {
    std::vector<std::string> names;
    for (const Contest* contest : group.contests)
      if (contest->winner() != nullptr) names.push_back(bound_name(bound_of(*contest)));
    summary.rows.push_back({group.name, tally(names)});
  }
  return section_head("Why", "What bounds it: memory, tensor cores, or latency?") +
         open_table(summary) +
         tables_of(groups,
                   {{"problem"},
                    {"fastest"},
                    {"bound by"},
                    {"because it has"},
                    {"bytes over floor", true},
                    {"TFLOP/s", true}},
                   [](const Contest& contest, const std::string& problem, Lines& rows) {
                     if (contest.winner() == nullptr) return;
                     const Record& record = *contest.winner()->record;
                     const BoundVerdict verdict = bound_of(contest);
                     rows.push_back({problem, shown_name(record), bound_name(verdict), verdict.why,
                                     bytes_text(record),
                                     format_rate(time_figures(record, 0).tflop_per_s)});
                   });
}

std::string costs_section(std::span<const Contest> contests) {
  const auto groups = groups_of(contests);
  Table summary{{{"operator"},
                 {"variant"},
                 {"problems", true},
                 {"bytes over floor, median", true},
                 {"workspace, most", true},
                 {"error of its bound, most", true},
                 {"energy, median", true}},
                {}};
  for (const ContestGroup& group : groups) add_cost_lines(group, summary);
  return section_head("Costs", "What does it take: bytes, workspace, error, energy?") +
         open_table(summary) +
         tables_of(groups,
                   {{"problem"},
                    {"variant"},
                    {"ms", true},
                    {"bytes over floor", true},
                    {"workspace", true},
                    {"error of its bound", true},
                    {"energy", true}},
                   add_costs);
}

std::string peers_section(std::span<const Contest> contests) {
  const auto groups = groups_of(contests);
  Table summary{{{"operator"},
                 {"of the floor, median", true},
                 {"most", true},
                 {"problems with a peer", true},
                 {"its time over ours, least", true},
                 {"median", true}},
                {}};
  for (const ContestGroup& group : groups) summary.rows.push_back(floor_line(group));
  return section_head("Peers and floor", "How far from the peers, and from what is possible?") +
         open_table(summary) +
         tables_of(
             groups,
             {{"problem"},
              {"fastest"},
              {"ms", true},
              {"floor ms", true},
              {"of the floor", true},
              {"best peer"},
              {"its ms", true},
              {"over ours", true}},
             [](const Contest& contest, const std::string& problem, Lines& rows) {
               const Entrant* winner = contest.winner();
               if (winner == nullptr) return;
               const Entrant* peer = contest.peer();
               rows.push_back(
                   {problem, shown_name(*winner->record), format_ms(winner->ms()),
                    format_ms(contest.floor_ms()), format_percent(contest.of_floor()),
                    peer != nullptr ? peer->record->variant : "-",
                    format_ms(peer != nullptr ? peer->ms() : unknown_number),
                    format_times(peer != nullptr ? peer->over_winner.ratio : unknown_number)});
             });
}

}  // namespace gla_bench
