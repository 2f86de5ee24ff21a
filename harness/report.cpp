#include "harness/report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <set>

#include "harness/assignment.hpp"
#include "harness/drill_down/selection.hpp"
#include "harness/environment.hpp"
#include "harness/report_measured.hpp"
#include "harness/table.hpp"
#include "harness/text.hpp"

namespace gla_bench {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// A record and what its file says about the place where it was made.
struct Row {
  const Record* record;
  double copy_gb_per_s;
  double last_level_cache;
  std::string device;

  double cold_ms() const { return record->timing ? record->timing->cold.median_ms : unknown; }
  /// A right result is worth nothing from a candidate that crashed or hung later.
  bool verified() const {
    return record->verification && record->verification->ok && !is_failure(record->status);
  }
};

std::string number(double value, const char* format) {
  if (std::isnan(value)) return "-";
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string milliseconds(double ms) {
  return number(ms, ms < 1 ? "%.4f" : ms < 100 ? "%.3f" : "%.1f");
}

std::string rate(double value) {
  return number(value, value < 1 ? "%.3f" : value < 100 ? "%.2f" : "%.0f");
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
  return worst_name + " " + number(rel_l2, "%.1e") + " (" + number(worst * 100, "%.0f") + " %)";
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
      row.copy_gb_per_s > 0 ? record.io.floor_bytes / (row.copy_gb_per_s * 1e6) : unknown;
  const double moved = record.io.model_read_bytes + record.io.model_write_bytes;
  const double hot = record.timing && record.timing->hot ? record.timing->hot->median_ms : unknown;
  return {record.variant,
          record.tile.empty() ? "-" : describe(record.tile),
          milliseconds(ms),
          milliseconds(hot),
          rate(record.io.floor_bytes / (ms * 1e6)),
          rate(record.flops / (ms * 1e9)),
          number(100 * floor_ms / ms, "%.1f %%"),
          number(moved > 0 ? moved / record.io.floor_bytes : unknown, "%.2f"),
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

Table table_of(const std::vector<Row>& rows) {
  Table table;
  table.columns = {{"variant", false}, {"best tile", false}, {"ms", true},       {"hot ms", true},
                   {"GB/s", true},     {"TFLOP/s", true},    {"of floor", true}, {"traffic", true},
                   {"error", true},    {"", false}};
  const auto list = best_of_each(rows);
  const auto winner = std::find_if(list.begin(), list.end(), may_win);
  for (auto row = list.begin(); row != list.end(); ++row)
    table.rows.push_back(cells(*row, row == winner));
  return table;
}

/// A line for each stage of the rows that have them; empty where none has.
Table stages_of(const std::vector<Row>& rows) {
  Table table;
  table.columns = {{"variant", false}, {"best tile", false}, {"stage", false},
                   {"ms", true},       {"of all", true},     {"GB/s", true}};
  for (const Row& row : best_of_each(rows)) {
    double sum = 0;
    for (const Stage& stage : row.record->stages) sum += stage.median_ms;
    for (const Stage& stage : row.record->stages)
      table.rows.push_back(
          {row.record->variant, row.record->tile.empty() ? "-" : describe(row.record->tile),
           stage.name, milliseconds(stage.median_ms),
           number(100 * stage.median_ms / sum, "%.1f %%"),
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
    cache = std::max(cache, row.last_level_cache);
  }
  return measured_table(records, cache);
}

std::string refusals_of(const std::vector<Row>& rows) {
  std::set<std::string> tried;
  for (const Row& row : rows)
    if (was_tried(*row.record)) tried.insert(row.record->variant);
  std::map<std::string, std::string> refused;
  for (const Row& row : rows)
    if (!tried.contains(row.record->variant))
      refused.try_emplace(row.record->variant, row.record->reason);
  std::string text;
  for (const auto& [variant, reason] : refused)
    text += "refused: " + variant + ": " + reason + "\n";
  return text;
}

std::string heading(const std::string& text, const ReportStyle& style, int level) {
  if (style.markdown)
    return std::string(static_cast<std::size_t>(level), '#') + " " + text + "\n\n";
  return text + "\n";
}

std::string line(const std::string& text, const ReportStyle& style) {
  return (style.markdown ? "- " : "  ") + text + "\n";
}

std::string origin_of(const Results& results) {
  std::string text = results.file + ": " + fact_text(results.environment, "device");
  for (const std::string_view key : {"driver", "toolkit", "peer", "git_commit", "started"})
    if (const std::string fact = fact_text(results.environment, key); !fact.empty())
      text += ", " + std::string(key) + " " + fact;
  if (const double copy = fact_number(results.environment, "copy_gb_per_s"); copy > 0)
    text += ", floor at the measured copy rate of " + number(copy, "%.0f") + " GB/s";
  for (const Extension& extension : results.extended)
    text += ", extended " + extension.started + " with " + describe_program(extension);
  if (results.unfinished) text += " (" + describe(*results.unfinished, results.file) + ")";
  return text;
}

}  // namespace

std::string failures(std::span<const Results> files, const ReportStyle& style) {
  std::string text;
  for (const Results& results : files)
    for (const Record& record : results.records) {
      if (!is_failure(record.status)) continue;
      text += line(describe(record), style);
      if (!record.peer) text += line(repeat_command(record), style);
    }
  return text.empty() ? "" : heading("Failures", style, 2) + text + "\n";
}

std::string report(std::span<const Results> files, const ReportStyle& style) {
  std::string text;
  std::size_t count = 0;
  std::map<std::pair<Problem, std::string>, std::vector<Row>> by_problem;
  std::vector<std::pair<Problem, std::string>> keys;
  for (const Results& results : files) {
    text += line(origin_of(results), style);
    const double copy = fact_number(results.environment, "copy_gb_per_s");
    const double cache = last_level_cache(results.environment);
    const std::string device = fact_text(results.environment, "device");
    for (const Record& record : results.records) {
      ++count;
      const std::pair<Problem, std::string> key{record.problem, device};
      auto& rows = by_problem[key];
      if (rows.empty()) keys.push_back(key);
      rows.push_back({&record, copy, cache, device});
    }
  }
  text += "\n" + failures(files, style);
  if (count == 0) return text + "no records\n";
  for (const auto& key : keys) {
    std::vector<Row>& rows = by_problem[key];
    // A peer's file measures no copy rate of its own: on one device the others' stands for it.
    double copy = 0;
    for (const Row& row : rows) copy = std::max(copy, row.copy_gb_per_s);
    for (Row& row : rows) row.copy_gb_per_s = copy;
    text +=
        heading(describe(key.first) + (key.second.empty() ? "" : " on " + key.second), style, 3);
    for (const Table& table : {table_of(rows), stages_of(rows), counted_of(rows)}) {
      if (table.rows.empty()) continue;
      text += style.markdown ? table.markdown() + "\n" : table.text(style.width);
    }
    text += refusals_of(rows) + "\n";
  }
  return text;
}

}  // namespace gla_bench
