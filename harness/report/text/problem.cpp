#include "harness/report/text/problem.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/records/environment.hpp"
#include "harness/report/bound_by.hpp"
#include "harness/report/contests.hpp"
#include "harness/report/text/measured.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

/// A record and what its file says about the place where it was made.
struct Row {
  const Record* record;
  const Facts* environment;
  double copy_gb_per_s;

  double cold_ms() const {
    return record->timing ? record->timing->cold.median_ms : unknown_number;
  }
  /// A right result is worth nothing from a candidate that crashed or hung later.
  bool verified() const {
    return record->verification && record->verification->ok && !is_failure(record->status);
  }
};

std::string rate(double value) {
  return format_number(value, value < 1 ? "%.3f" : value < 100 ? "%.2f" : "%.0f");
}

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
  return worst_name + " " + format_number(rel_l2, "%.1e") + " (" +
         format_number(worst * 100, "%.0f") + " %)";
}

std::string bound_of(const Row& row) {
  const BoundVerdict verdict = bound_by(*row.record, *row.environment);
  return verdict.by ? std::string(name(*verdict.by)) : "-";
}

std::string notes_of(const Row& row, bool winner) {
  std::vector<std::string> notes;
  if (winner) notes.push_back("winner");
  if (row.record->peer) notes.push_back("peer");
  if (row.record->timing && row.record->timing->suspect) notes.push_back("suspect");
  if (row.record->chosen_by) notes.push_back("auto: " + row.record->chosen_by->how);
  if (row.record->timing && row.record->timing->throttled) notes.push_back("throttled");
  if (is_failure(row.record->status)) notes.emplace_back(name(row.record->status));
  if (row.verified() && !row.record->verification->deterministic && !row.record->peer)
    notes.push_back("varies");
  return join(notes);
}

std::vector<std::string> cells(const Row& row, bool winner) {
  const Record& record = *row.record;
  const double ms = row.cold_ms();
  const double floor_ms =
      row.copy_gb_per_s > 0 ? record.io.floor_bytes / (row.copy_gb_per_s * 1e6) : unknown_number;
  const double moved = record.io.model_read_bytes + record.io.model_write_bytes;
  const double hot =
      record.timing && record.timing->hot ? record.timing->hot->median_ms : unknown_number;
  return {record.variant,
          record.tile.empty() ? "-" : describe(record.tile),
          format_ms(ms),
          format_ms(hot),
          rate(record.io.floor_bytes / (ms * 1e6)),
          rate(record.flops / (ms * 1e9)),
          format_number(100 * floor_ms / ms, "%.1f %%"),
          format_number(moved > 0 ? moved / record.io.floor_bytes : unknown_number, "%.2f"),
          bound_of(row),
          error_of(record),
          notes_of(row, winner)};
}

/// True where `a` comes before `b`: timed and right rows by time, then the verified, then the rest.
bool better(const Row& a, const Row& b) {
  const auto rank = [](const Row& row) {
    if (!row.verified()) return 2;
    return std::isnan(row.cold_ms()) ? 1 : 0;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return rank(a) == 0 && a.cold_ms() < b.cold_ms();
}

bool may_win(const Row& row) {
  return row.verified() && row.record->status == Status::measured && !row.record->peer &&
         row.record->timing && !row.record->timing->suspect && row.cold_ms() > 0;
}

/// The best row of each variant, best first.
std::vector<Row> best_of_each(const std::vector<Row>& rows) {
  std::map<std::string, Row> best;
  for (const Row& row : rows) {
    if (!was_tried(*row.record)) continue;
    const auto [place, fresh] = best.try_emplace(row.record->variant, row);
    if (!fresh && better(row, place->second)) place->second = row;
  }
  std::vector<Row> list;
  for (const auto& [variant, row] : best) list.push_back(row);
  std::stable_sort(list.begin(), list.end(), better);
  return list;
}

Tone tone_of(const Row& row, bool winner) {
  if (winner) return Tone::good;
  if (is_failure(row.record->status)) return Tone::bad;
  return row.record->peer ? Tone::faint : Tone::plain;
}

Table table_of(const std::vector<Row>& rows) {
  Table table;
  table.columns = {{"variant", false},
                   {"best tile", false, 7},
                   {"ms", true},
                   {"hot ms", true, 2},
                   {"GB/s", true, 3},
                   {"TFLOP/s", true, 4},
                   {"of floor", true, 6},
                   {"traffic", true, 1},
                   {"bound by", false, 5},
                   {"error", true},
                   {"", false}};
  const auto list = best_of_each(rows);
  const auto winner = std::find_if(list.begin(), list.end(), may_win);
  for (auto row = list.begin(); row != list.end(); ++row) {
    table.rows.push_back(cells(*row, row == winner));
    table.tones.push_back(tone_of(*row, row == winner));
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
          {row.record->variant, row.record->tile.empty() ? "-" : describe(row.record->tile),
           stage.name, format_ms(stage.median_ms),
           format_number(100 * stage.median_ms / sum, "%.1f %%"),
           rate((stage.model_read_bytes + stage.model_write_bytes) / (stage.median_ms * 1e6))});
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
  std::map<std::pair<Problem, std::string>, std::vector<Row>> by_problem;
  std::vector<std::pair<Problem, std::string>> keys;
  for (const Results& results : files) {
    const double copy = fact_number(results.environment, "copy_gb_per_s");
    const std::string device = fact_text(results.environment, "device");
    for (const Record& record : results.records) {
      auto& rows = by_problem[{record.problem, device}];
      if (rows.empty()) keys.emplace_back(record.problem, device);
      rows.push_back({&record, &results.environment, copy});
    }
  }
  std::vector<ProblemTables> list;
  for (const auto& key : keys) {
    std::vector<Row>& rows = by_problem[key];
    // A peer's file measures no copy rate of its own: on one device the others' stands for it.
    double copy = 0;
    for (const Row& row : rows) copy = std::max(copy, row.copy_gb_per_s);
    for (Row& row : rows) row.copy_gb_per_s = copy;
    list.push_back({name_of(key.first).group,
                    describe(key.first) + (key.second.empty() ? "" : " on " + key.second),
                    {table_of(rows).without_empty_columns(), stages_of(rows),
                     counted_of(rows).without_empty_columns()},
                    refusals_of(rows)});
  }
  return list;
}

}  // namespace gla_bench
