#include "harness/report/page/data.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/judge/comparison_report.hpp"
#include "harness/records/environment.hpp"
#include "harness/records/record_json.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/bound_by.hpp"
#include "harness/report/page/columns.hpp"
#include "harness/support/interval.hpp"

namespace gla_bench {
namespace {

constexpr int time_digits = 5, error_digits = 3, count_digits = 7;

/// What stands in a row's command between its tile and its end, without the braces.
std::string problem_text(const Problem& problem) {
  const Json all = problem_to_json(problem);
  Json json;
  for (const auto& [key, value] : all.items())
    if (!value.is_null()) json[key] = value;
  return json.dump();
}

/// Columns by name, each as long as the records that went by. A record sets some cells; the others
/// are empty.
class Columns {
 public:
  void number(const std::string& column, std::optional<double> value, int digits) {
    if (!value) return;
    NumberColumn& cells = numbers_[column];
    while (cells.size() < records_) cells.add_nothing();
    cells.add(*value, digits);
  }
  void text(const std::string& column, const std::string& value) { texts_[column].add(value); }
  /// One record is complete.
  void end_record() {
    ++records_;
    for (auto& [name, cells] : numbers_)
      if (cells.size() < records_) cells.add_nothing();
  }
  Json packed() const {
    Json json = Json::object();
    for (const auto& [name, cells] : texts_) json[name] = cells.packed();
    for (const auto& [name, cells] : numbers_) json[name] = cells.packed();
    return json;
  }

 private:
  std::map<std::string, NumberColumn> numbers_;
  std::map<std::string, TextColumn> texts_;
  std::size_t records_ = 0;
};

std::optional<double> known(double value) {
  return std::isnan(value) ? std::nullopt : std::optional(value);
}

std::optional<double> positive(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> flag(bool value) {
  return value ? std::optional(1.0) : std::nullopt;
}

void put_timing(const Record& record, Columns& columns) {
  if (!record.timing) return;
  const Series& cold = record.timing->cold;
  columns.number("cold_ms", cold.median_ms, time_digits);
  columns.number("samples", static_cast<double>(cold.samples_ms.size()), time_digits);
  if (!cold.samples_ms.empty() && cold.median_ms > 0) {
    std::vector<double> seconds = cold.samples_ms;
    for (double& sample : seconds) sample *= 1e-3;
    columns.number("cold_half", known(relative_half_width(seconds)), error_digits);
  }
  if (record.timing->hot) columns.number("hot_ms", record.timing->hot->median_ms, time_digits);
  columns.number("suspect", flag(record.timing->suspect), 1);
  columns.number("throttled", flag(record.timing->throttled), 1);
}

void put_bytes(const Record& record, Columns& columns) {
  const Io& io = record.io;
  columns.number("floor_bytes", positive(io.floor_bytes), count_digits);
  columns.number("model_bytes", positive(io.model_read_bytes + io.model_write_bytes), count_digits);
  columns.number("workspace_bytes",
                 was_tried(record) ? std::optional(io.workspace_bytes) : std::nullopt,
                 count_digits);
  columns.number("flops", positive(record.flops), count_digits);
  if (!io.measured) return;
  columns.number("dram_read_bytes", io.measured->dram_read_bytes, time_digits);
  columns.number("dram_write_bytes", io.measured->dram_write_bytes, time_digits);
  columns.number("l2_bytes", io.measured->l2_bytes, time_digits);
  const auto& metrics = io.measured->metrics;
  if (const auto found = metrics.find("sm__inst_executed_pipe_tensor.sum"); found != metrics.end())
    columns.number("tensor_instructions", found->second, error_digits);
}

void put_candidate(const Results& results, const Record& record, Columns& columns) {
  columns.text("variant", record.variant);
  columns.text("backend", std::string(name(record.backend)));
  columns.text("tile", (record.tile.empty() ? Json::object() : Json(record.tile)).dump());
  columns.text("device", fact_text(results.environment, "device"));
  columns.text("status", std::string(name(record.status)));
  columns.text("reason", record.reason);
  columns.text("source_hash", record.source_hash);
  columns.number("peer", flag(record.peer), 1);
  columns.number("refused_tiles", positive(static_cast<double>(record.refused_tiles)),
                 count_digits);
}

void put_verification(const Record& record, Columns& columns, Columns& tensors) {
  columns.text("check", record.verification ? record.verification->check : "");
  if (record.verification) {
    columns.number("right", record.verification->ok ? 1 : 0, 1);
    columns.number("deterministic", record.verification->deterministic ? 1 : 0, 1);
    for (const auto& [tensor, verdict] : record.verification->tensors) {
      tensors.number(tensor + "/error", verdict.rel_l2, error_digits);
      tensors.number(tensor + "/bound", verdict.bound, error_digits);
    }
  }
  tensors.end_record();
}

void put_bound(const Results& results, const Record& record, Columns& columns) {
  const BoundVerdict verdict = bound_by(record, results.environment);
  columns.number("of_copy", known(verdict.of_copy), error_digits);
  columns.number("of_peak", known(verdict.of_peak), error_digits);
  columns.text("bound_by", verdict.by ? std::string(name(*verdict.by)) : "");
  columns.text("bound_why", verdict.by ? verdict.why : "");
}

void put_costs(const Record& record, Columns& columns) {
  if (record.energy) columns.number("joules", record.energy->joules_per_call, error_digits);
  if (!record.build) return;
  columns.number("registers", positive(record.build->registers), count_digits);
  columns.number("spill_bytes", positive(record.build->spill_bytes), count_digits);
  columns.number("shared_bytes", positive(record.build->shared_bytes), count_digits);
}

/// By the record's place among all: only those that have stages.
void put_stages(std::size_t place, const Record& record, Json& stages) {
  if (record.stages.empty()) return;
  Json list = Json::array();
  for (const Stage& stage : record.stages)
    list.push_back({stage.name, stage.median_ms, stage.model_read_bytes + stage.model_write_bytes});
  stages[std::to_string(place)] = std::move(list);
}

Json file_json(const Results& results) {
  Json notes = Json::array();
  if (results.unfinished) notes.push_back(describe(*results.unfinished, results.file));
  for (const Extension& extension : results.extended)
    notes.push_back("extended " + extension.started + " with " + describe_program(extension));
  Json json{{"name", results.file},
            {"environment", facts_to_json(results.environment)},
            {"count", results.records.size()},
            {"notes", std::move(notes)}};
  if (!results.places.empty()) json["places"] = results.places;
  return json;
}

}  // namespace

Json page_data(const PageContent& content) {
  Columns columns, tensors;
  TextColumn problems;
  Json files = Json::array(), stages = Json::object();
  std::size_t place = 0;
  for (const Results& results : content.files) {
    files.push_back(file_json(results));
    for (const Record& record : results.records) {
      problems.add(problem_text(record.problem));
      put_candidate(results, record, columns);
      put_verification(record, columns, tensors);
      put_timing(record, columns);
      put_bytes(record, columns);
      put_bound(results, record, columns);
      put_costs(record, columns);
      put_stages(place++, record, stages);
      columns.end_record();
    }
  }
  Json packed = columns.packed();
  packed["problem"] = problems.packed();
  return {{"format", 1},
          {"program", program_version()},
          {"count", place},
          {"files", std::move(files)},
          {"columns", std::move(packed)},
          {"tensors", tensors.packed()},
          {"stages", std::move(stages)},
          {"comparison",
           content.comparison != nullptr ? comparison_json(*content.comparison) : Json(nullptr)}};
}

std::string json_for_script(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    // They stand inside strings only, where an escape means the same.
    if (c == '<' || c == '>' || c == '&')
      safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    else
      safe += c;
  }
  return safe;
}

}  // namespace gla_bench
