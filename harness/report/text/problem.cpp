#include "harness/report/text/problem.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/records/contest.hpp"
#include "harness/records/environment.hpp"
#include "harness/report/bound_by.hpp"
#include "harness/report/shown_name.hpp"
#include "harness/report/stale.hpp"
#include "harness/report/text/measured.hpp"
#include "harness/report/text/section_parts.hpp"
#include "harness/report/time_figures.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

/// A record and what its file says about the place where it was made.
struct Row {
  const Record* record;
  const Facts* environment;
  double copy_gb_per_s;
  Standing standing;

  bool wins() const { return standing == Standing::winner; }
  bool competes() const {
    return wins() || standing == Standing::tied || standing == Standing::slower;
  }
  TimeFigures figures() const { return time_figures(*record, copy_gb_per_s); }
  /// A right result is worthless where the candidate crashed or hung later.
  bool verified() const {
    return record->verification && record->verification->ok && !is_failure(record->status);
  }
};

/// The output that uses most of its bound: "o 1.2e-03 (31 %)".
std::string error_of(const Record& record) {
  if (!record.verification || record.verification->tensors.empty()) return "-";
  std::string worst_name;
  double worst = -1, rel_l2 = 0;
  for (const auto& [tensor, verdict] : record.verification->tensors) {
    const double share = verdict.rel_l2 / verdict.bound;
    if (std::isnan(share)) return tensor + " nan";
    if (share > worst) {
      worst = share;
      worst_name = tensor;
      rel_l2 = verdict.rel_l2;
    }
  }
  return worst_name + " " + format_error(rel_l2) + " (" + format_percent(worst) + ")";
}

std::string bound_of(const Row& row) {
  const BoundVerdict verdict = bound_by(*row.record, *row.environment);
  return verdict.by ? std::string(name(*verdict.by)) : "-";
}

std::string notes_of(const Row& row) {
  std::vector<std::string> notes;
  if (row.wins() || row.standing == Standing::tied) notes.emplace_back(name(row.standing));
  if (row.record->peer) notes.push_back("peer");
  if (row.record->timing && row.record->timing->suspect) notes.push_back("suspect");
  if (is_stale(*row.record)) notes.push_back("stale");
  if (row.record->chosen_by) notes.push_back("auto: " + row.record->chosen_by->how);
  if (row.record->timing && row.record->timing->throttled) notes.push_back("throttled");
  if (is_failure(row.record->status)) notes.emplace_back(name(row.record->status));
  if (row.verified() && !row.record->verification->deterministic &&
      !measured_elsewhere(*row.record))
    notes.push_back("varies");
  return join(notes);
}

std::vector<std::string> cells(const Row& row) {
  const Record& record = *row.record;
  const TimeFigures figures = row.figures();
  const double moved = record.io.model_read_bytes + record.io.model_write_bytes;
  return {shown_name(record),
          record.tile.empty() ? "-" : describe(record.tile),
          format_ms(figures.cold_ms),
          format_ms(figures.hot_ms),
          format_ms(figures.sustained_ms),
          format_rate(figures.gb_per_s),
          format_rate(figures.tflop_per_s),
          format_percent(figures.of_floor),
          format_factor(moved > 0 ? moved / record.io.floor_bytes : unknown_number),
          bound_of(row),
          error_of(record),
          notes_of(row)};
}

/// True where `a` comes before `b`: right rows with a time come first, by time, then the verified,
/// then the rest.
bool better(const Row& a, const Row& b) {
  const auto rank = [](const Row& row) {
    if (!row.verified()) return 2;
    return std::isnan(row.figures().cold_ms) ? 1 : 0;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return rank(a) == 0 && a.figures().cold_ms < b.figures().cold_ms;
}

/// The row that stands for each variant, and for its tiles in tf32, best first: the one that
/// competes, or else the best.
std::vector<Row> best_of_each(const std::vector<Row>& rows) {
  std::map<std::string, Row> best;
  for (const Row& row : rows) {
    if (!was_tried(*row.record)) continue;
    const auto [place, fresh] = best.try_emplace(shown_name(*row.record), row);
    if (!fresh && !place->second.competes() && (row.competes() || better(row, place->second)))
      place->second = row;
  }
  std::vector<Row> list;
  for (const auto& [variant, row] : best) list.push_back(row);
  std::stable_sort(list.begin(), list.end(), better);
  return list;
}

Tone tone_of(const Row& row) {
  if (row.wins()) return Tone::good;
  if (is_failure(row.record->status)) return Tone::bad;
  return row.record->peer ? Tone::faint : Tone::plain;
}

Table table_of(const std::vector<Row>& rows) {
  Table table;
  table.columns = {{"variant", false},     {"best tile", false, 8}, {"ms", true},
                   {"hot ms", true, 2},    {"sustained", true, 3},  {"GB/s", true, 4},
                   {"TFLOP/s", true, 5},   {"of floor", true, 7},   {"traffic", true, 1},
                   {"bound by", false, 6}, {"error", true},         {"", false}};
  for (const Row& row : best_of_each(rows)) {
    table.rows.push_back(cells(row));
    table.tones.push_back(tone_of(row));
  }
  return table;
}

/// A line for each stage of the rows that have them; empty where none has.
Table stages_of(const std::vector<Row>& rows) {
  Table table;
  table.columns = {{"variant", false}, {"best tile", false, 2}, {"stage", false},
                   {"ms", true},       {"of all", true},        {"GB/s", true, 1}};
  for (const Row& row : best_of_each(rows)) {
    double sum = 0;
    for (const Stage& stage : row.record->stages) sum += stage.median_ms;
    for (const Stage& stage : row.record->stages)
      table.rows.push_back(
          {shown_name(*row.record), row.record->tile.empty() ? "-" : describe(row.record->tile),
           stage.name, format_ms(stage.median_ms), format_percent(stage.median_ms / sum),
           format_rate(rate_over_ms(stage.model_read_bytes + stage.model_write_bytes,
                                    stage.median_ms, 1e6))});
  }
  return table;
}

/// What was counted of each variant's best row.
Table counted_of(const std::vector<Row>& rows) {
  std::vector<const Record*> records;
  double cache = 0;
  for (const Row& row : best_of_each(rows)) {
    records.push_back(row.record);
    cache = std::max(cache, last_level_cache(*row.environment));
  }
  return measured_table(records, cache);
}

std::vector<std::string> refusals_of(const std::vector<Row>& rows) {
  std::set<std::string> tried;
  for (const Row& row : rows)
    if (was_tried(*row.record)) tried.insert(row.record->variant);
  std::map<std::string, std::string> refused;
  for (const Row& row : rows)
    if (!tried.contains(row.record->variant))
      refused.try_emplace(row.record->variant, row.record->reason);
  std::vector<std::string> lines;
  for (const auto& [variant, reason] : refused)
    lines.push_back("refused: " + variant + ": " + reason);
  return lines;
}

}  // namespace

std::vector<ProblemTables> problem_tables(std::span<const Results> files) {
  const std::vector<Contest> contests = all_contests(files);
  std::map<std::pair<Problem, std::string>, std::size_t> backends;
  for (const Contest& contest : contests) ++backends[{contest.problem, contest.device}];
  std::vector<ProblemTables> list;
  for (const Contest& contest : contests) {
    std::vector<Row> rows;
    for (const Placing& placing : contest.records)
      rows.push_back({placing.record, &placing.file->environment, copy_rate(*placing.file, files),
                      placing.standing});
    std::string title = describe(contest.problem);
    if (!contest.device.empty()) title += " on " + contest.device;
    if (backends[{contest.problem, contest.device}] > 1)
      title += " [" + std::string(name(contest.backend)) + "]";
    list.push_back({name_of(contest.problem).group,
                    std::move(title),
                    {table_of(rows).without_empty_columns(), stages_of(rows),
                     counted_of(rows).without_empty_columns()},
                    refusals_of(rows)});
  }
  return list;
}

}  // namespace gla_bench
