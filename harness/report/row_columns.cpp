#include "harness/report/row_columns.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "harness/records/environment.hpp"
#include "harness/records/problem_fields.hpp"
#include "harness/records/record_json.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/stale.hpp"
#include "harness/report/time_figures.hpp"
#include "harness/support/fields/columns.hpp"
#include "harness/support/statistics/interval.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

/// For values that CSV and JSON show as well: rounding them twice could change the last digit
/// shown.
constexpr int all_digits = 17;

Json positive(double value) {
  return value > 0 ? Json(value) : Json(nullptr);
}

Json known(double value) {
  return std::isnan(value) ? Json(nullptr) : Json(value);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

/// The output that uses most of its bound; a NaN is worse than anything. Null without outputs.
const TensorVerdict* worst_tensor(const Record& record) {
  if (!record.verification) return nullptr;
  const TensorVerdict* worst = nullptr;
  for (const auto& [name, verdict] : record.verification->tensors) {
    if (std::isnan(verdict.rel_l2)) return &verdict;
    if (worst == nullptr || verdict.rel_l2 / verdict.bound > worst->rel_l2 / worst->bound)
      worst = &verdict;
  }
  return worst;
}

Json member(const ReportRow& row, const char* key) {
  return row.problem.contains(key) ? row.problem.at(key) : Json(nullptr);
}

/// What stands in a row's command between its tile and its end: an object.
Json problem_text(const ReportRow& row) {
  Json json;
  for (const auto& [key, value] : row.problem.items())
    if (!value.is_null()) json[key] = value;
  return json.dump();
}

Json tile_object(const Record& record) {
  return record.tile.empty() ? Json::object() : Json(record.tile);
}

Json half_width(const ReportRow& row) {
  const auto& timing = row.record->timing;
  if (!timing || timing->cold.samples_ms.empty() || !(timing->cold.median_ms > 0)) return nullptr;
  std::vector<double> seconds = timing->cold.samples_ms;
  for (double& sample : seconds) sample *= 1e-3;
  return known(relative_half_width(seconds));
}

Json counted_bytes(const ReportRow& row) {
  const auto& measured = row.record->io.measured;
  if (!measured || !measured->dram_read_bytes || !measured->dram_write_bytes) return nullptr;
  return *measured->dram_read_bytes + *measured->dram_write_bytes;
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json tensor_instructions(const ReportRow& row) {
  const auto& measured = row.record->io.measured;
  if (!measured) return nullptr;
  const auto found = measured->metrics.find("sm__inst_executed_pipe_tensor.sum");
  return found == measured->metrics.end() ? Json(nullptr) : Json(found->second);
}

Json ratio_part(const ReportRow& row, double RatioEstimate::*part) {
  const bool judged = row.entrant != nullptr && row.entrant->over_winner.count > 0;
  if (row.standing == Standing::winner) return 1.0;
  return judged ? known(row.entrant->over_winner.*part) : Json(nullptr);
}

/// For CSV, JSON and the page.
ReportColumn shared(std::string name, int digits, std::function<Json(const ReportRow&)> value) {
  return {std::move(name), true, true, false, digits, std::move(value)};
}

ReportColumn for_text(std::string name, std::function<Json(const ReportRow&)> value) {
  return {std::move(name), true, false, false, 0, std::move(value)};
}

ReportColumn for_page(std::string name, int digits, std::function<Json(const ReportRow&)> value) {
  return {std::move(name), false, true, false, digits, std::move(value)};
}

ReportColumn of_contest(std::string name, int digits, std::function<Json(const ReportRow&)> value) {
  return {std::move(name), true, true, true, digits, std::move(value)};
}

using Row = const ReportRow&;

/// The columns that the fields of records declare where they stand, by their names.
class Declared {
 public:
  /// The column, which stands here.
  ReportColumn take(std::string_view name) {
    const auto found = std::find_if(columns_.begin(), columns_.end(),
                                    [&](const auto& column) { return column.name == name; });
    if (found == columns_.end())
      throw std::logic_error("no field declares the column " + std::string(name));
    ReportColumn column = as_report_column(std::move(*found));
    columns_.erase(found);
    return column;
  }

  /// Those that have no place of their own.
  std::vector<ReportColumn> rest() {
    std::vector<ReportColumn> list;
    for (auto& column : columns_) list.push_back(as_report_column(std::move(column)));
    columns_.clear();
    return list;
  }

 private:
  static ReportColumn as_report_column(FieldColumn<Record> column) {
    return shared(std::move(column.name), column.has_fraction ? all_digits : 0,
                  [value = std::move(column.value)](Row row) { return value(*row.record); });
  }

  std::vector<FieldColumn<Record>> columns_ = field_columns<Record>();
};

void add_problem(std::vector<ReportColumn>& columns) {
  columns.push_back(for_text("file", [](Row row) { return row.file->file; }));
  columns.push_back(for_text("row", [](Row row) { return row.place; }));
  for (const char* key : {"operator", "direction", "dtype", "layout", "shape", "gate", "seed",
                          "initial_state", "final_state"})
    columns.push_back(for_text(key, [key](Row row) { return member(row, key); }));
  columns.push_back(for_text(
      "options", [](Row row) { return pairs_text(row.problem.value("options", Json::object())); }));
  columns.push_back(for_page("problem", 0, problem_text));
}

void add_candidate(std::vector<ReportColumn>& columns, Declared& declared) {
  columns.push_back(declared.take("variant"));
  columns.push_back(for_text("tile", [](Row row) { return pairs_text(tile_object(*row.record)); }));
  columns.push_back(declared.take("arithmetic"));
  columns.push_back(
      for_page("tile_text", 0, [](Row row) { return tile_object(*row.record).dump(); }));
  columns.push_back(
      for_page("manifest", 0, [](Row row) { return text_or_null(row.record->manifest); }));
  columns.push_back(declared.take("backend"));
  columns.push_back(
      shared("device", 0, [](Row row) { return fact_text(row.file->environment, "device"); }));
  columns.push_back(declared.take("peer"));
  columns.push_back(declared.take("status"));
  columns.push_back(shared("reason", 0, [](Row row) { return text_or_null(row.record->reason); }));
  columns.push_back(for_page("refused_tiles", 0, [](Row row) {
    return positive(static_cast<double>(row.record->refused_tiles));
  }));
}

void add_contest(std::vector<ReportColumn>& columns) {
  columns.push_back(for_page("contest", 0, [](Row row) { return row.contest; }));
  columns.push_back(of_contest("standing", 0, [](Row row) { return name(row.standing); }));
  columns.push_back(
      of_contest("rank", 0, [](Row row) { return row.rank > 0 ? Json(row.rank) : Json(nullptr); }));
  columns.push_back(of_contest("over_winner", all_digits,
                               [](Row row) { return ratio_part(row, &RatioEstimate::ratio); }));
  columns.push_back(of_contest("over_winner_low", all_digits,
                               [](Row row) { return ratio_part(row, &RatioEstimate::low); }));
  columns.push_back(of_contest("over_winner_high", all_digits,
                               [](Row row) { return ratio_part(row, &RatioEstimate::high); }));
  columns.push_back(for_page(
      "ties", 0, [](Row row) { return row.ties.empty() ? Json(nullptr) : Json(row.ties); }));
}

void add_times(std::vector<ReportColumn>& columns, Declared& declared) {
  columns.push_back(declared.take("cold_ms"));
  columns.push_back(for_page("cold_half", page_digits, half_width));
  columns.push_back(declared.take("hot_ms"));
  columns.push_back(declared.take("sustained_ms"));
  columns.push_back(for_page("samples", 0, [](Row row) {
    return row.record->timing ? Json(row.record->timing->cold.samples_ms.size()) : Json(nullptr);
  }));
  const auto figure = [&columns](const char* name, double TimeFigures::*part) {
    columns.push_back(shared(name, all_digits, [part](Row row) {
      return known(time_figures(*row.record, row.copy_gb_per_s).*part);
    }));
  };
  figure("floor_ms", &TimeFigures::floor_ms);
  figure("of_floor", &TimeFigures::of_floor);
  figure("gb_per_s", &TimeFigures::gb_per_s);
  figure("tflop_per_s", &TimeFigures::tflop_per_s);
}

void add_bytes(std::vector<ReportColumn>& columns) {
  columns.push_back(shared("floor_bytes", all_digits,
                           [](Row row) { return positive(row.record->io.floor_bytes); }));
  columns.push_back(shared("model_bytes", all_digits, [](Row row) {
    return positive(row.record->io.model_read_bytes + row.record->io.model_write_bytes);
  }));
  columns.push_back(shared("measured_bytes", all_digits, counted_bytes));
  columns.push_back(shared("workspace_bytes", all_digits, [](Row row) {
    return was_tried(*row.record) ? Json(row.record->io.workspace_bytes) : Json(nullptr);
  }));
  columns.push_back(
      for_page("flops", all_digits, [](Row row) { return positive(row.record->flops); }));
  const auto counter = [&columns](const char* name, auto part) {
    columns.push_back(for_page(name, page_digits, [part](Row row) {
      const auto& measured = row.record->io.measured;
      return measured ? or_null((*measured).*part) : Json(nullptr);
    }));
  };
  counter("dram_read_bytes", &CounterReading::dram_read_bytes);
  counter("dram_write_bytes", &CounterReading::dram_write_bytes);
  counter("l2_bytes", &CounterReading::l2_bytes);
  columns.push_back(for_page("tensor_instructions", page_digits, tensor_instructions));
}

void add_verification(std::vector<ReportColumn>& columns) {
  columns.push_back(shared("error", all_digits, [](Row row) {
    const TensorVerdict* worst = worst_tensor(*row.record);
    return worst != nullptr ? number_to_json(worst->rel_l2) : Json(nullptr);
  }));
  columns.push_back(shared("bound", all_digits, [](Row row) {
    const TensorVerdict* worst = worst_tensor(*row.record);
    return worst != nullptr ? number_to_json(worst->bound) : Json(nullptr);
  }));
  columns.push_back(for_page("check", 0, [](Row row) {
    return text_or_null(row.record->verification ? row.record->verification->check : "");
  }));
  columns.push_back(for_page("right", 0, [](Row row) {
    return row.record->verification ? Json(row.record->verification->ok) : Json(nullptr);
  }));
  columns.push_back(for_page("deterministic", 0, [](Row row) {
    return row.record->verification ? Json(row.record->verification->deterministic) : Json(nullptr);
  }));
}

void add_costs(std::vector<ReportColumn>& columns, Declared& declared) {
  columns.push_back(declared.take("joules"));
  const auto built = [&columns](const char* name, auto part) {
    columns.push_back(for_page(name, 0, [part](Row row) {
      return row.record->build ? positive(static_cast<double>((*row.record->build).*part))
                               : Json(nullptr);
    }));
  };
  built("registers", &BuildInfo::registers);
  built("spill_bytes", &BuildInfo::spill_bytes);
  built("shared_bytes", &BuildInfo::shared_bytes);
}

void add_bound(std::vector<ReportColumn>& columns) {
  columns.push_back(
      shared("of_copy", all_digits, [](Row row) { return known(row.bound.of_copy); }));
  columns.push_back(
      shared("of_peak", all_digits, [](Row row) { return known(row.bound.of_peak); }));
  columns.push_back(shared("bound_by", 0, [](Row row) {
    return row.bound.by ? Json(name(*row.bound.by)) : Json(nullptr);
  }));
  columns.push_back(shared(
      "bound_why", 0, [](Row row) { return row.bound.by ? Json(row.bound.why) : Json(nullptr); }));
}

void add_rest(std::vector<ReportColumn>& columns, Declared& declared) {
  for (const char* name : {"suspect", "throttled"}) columns.push_back(declared.take(name));
  columns.push_back(shared("stale", 0, [](Row row) {
    return was_tried(*row.record) ? Json(is_stale(*row.record)) : Json(nullptr);
  }));
  columns.push_back(declared.take("source_hash"));
  for (ReportColumn& column : declared.rest()) columns.push_back(std::move(column));
  columns.push_back(for_text("command", [](Row row) {
    return measured_elsewhere(*row.record) ? Json(nullptr) : Json(repeat_command(*row.record));
  }));
}

ReportRow plain_row(const Results& results, const Record& record, std::size_t place,
                    double copy_gb_per_s) {
  return {&results,
          &record,
          place,
          copy_gb_per_s,
          problem_to_json(record.problem),
          bound_by(record, results.environment),
          0,
          Standing::not_timed,
          nullptr,
          0,
          {}};
}

using RowsByRecord = std::map<const Record*, ReportRow*>;

void add_ranks(const std::vector<Entrant>& entrants, const RowsByRecord& rows) {
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    ReportRow& row = *rows.at(entrants[i].record);
    row.entrant = &entrants[i];
    row.rank = i + 1;
  }
}

void add_standings(const Contest& contest, std::size_t number, const RowsByRecord& rows) {
  for (const Placing& placing : contest.records) {
    rows.at(placing.record)->contest = number;
    rows.at(placing.record)->standing = placing.standing;
  }
  add_ranks(contest.entrants, rows);
  add_ranks(contest.peers, rows);
  const auto ties = ties_of(contest);
  for (std::size_t i = 0; i < ties.size(); ++i)
    for (const std::size_t other : ties[i])
      rows.at(contest.entrants[i].record)->ties.push_back(other + 1);
}

}  // namespace

std::string pairs_text(const Json& object) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : object.items())
    parts.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  return join(parts, ",");
}

const std::vector<ReportColumn>& report_columns() {
  static const std::vector<ReportColumn> columns = [] {
    std::vector<ReportColumn> list;
    Declared declared;
    add_problem(list);
    add_candidate(list, declared);
    add_contest(list);
    add_times(list, declared);
    add_bytes(list);
    add_verification(list);
    add_costs(list, declared);
    add_bound(list);
    add_rest(list, declared);
    return list;
  }();
  return columns;
}

ReportRow row_without_contest(const Results& results, std::size_t index) {
  return plain_row(results, results.records.at(index), place_in_file(results, index),
                   copy_rate(results, {}));
}

ReportRows report_rows(std::span<const Results> files) {
  ReportRows all{all_contests(files), {}};
  for (const Results& results : files)
    for (std::size_t i = 0; i < results.records.size(); ++i)
      all.rows.push_back(plain_row(results, results.records[i], place_in_file(results, i),
                                   copy_rate(results, files)));
  RowsByRecord by_record;
  for (ReportRow& row : all.rows) by_record[row.record] = &row;
  for (std::size_t i = 0; i < all.contests.size(); ++i)
    add_standings(all.contests[i], i, by_record);
  return all;
}

}  // namespace gla_bench
