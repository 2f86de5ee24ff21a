#include "harness/report/page/data.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "core/extents.hpp"
#include "harness/judge/comparison_report.hpp"
#include "harness/records/environment.hpp"
#include "harness/records/record_json.hpp"
#include "harness/report/row_columns.hpp"
#include "harness/support/numbers.hpp"

namespace gla_bench {
namespace {

/// A number of fewer digits; any other value is left as it is.
Json shortened(Json value, int digits) {
  return digits > 0 && value.is_number_float() ? Json(shorten_to(value.get<double>(), digits))
                                               : value;
}

/// A column as the page reads it. Each text is stored once: {"texts", "at": their places}.
Json column_json(const ReportColumn& column, std::span<const ReportRow> rows) {
  Json values = Json::array();
  std::map<std::string, std::size_t> places;
  Json texts = Json::array();
  for (const ReportRow& row : rows) {
    Json value = shortened(column.value(row), column.digits);
    // In a column of numbers a text is "nan" or an infinity.
    if (value.is_string() && column.digits == 0) {
      const auto [place, fresh] = places.try_emplace(value.get<std::string>(), texts.size());
      if (fresh) texts.push_back(place->first);
      value = place->second;
    }
    values.push_back(std::move(value));
  }
  if (texts.empty()) return values;
  return {{"texts", std::move(texts)}, {"at", std::move(values)}};
}

/// The extents that a shape may state, in the order in which labels have them.
Json extents_json() {
  Json list = Json::array();
  for (const ExtentAxis& axis : extent_axes)
    list.push_back({{"name", axis.name}, {"symbol", axis.symbol}, {"role", name(axis.role)}});
  return list;
}

Json columns_json(std::span<const ReportRow> rows) {
  Json columns = Json::object();
  for (const ReportColumn& column : report_columns())
    if (column.in_page) columns[column.name] = column_json(column, rows);
  return columns;
}

/// Errors and bounds of each output, as columns "o/error", with null for the rows that lack it.
Json tensors_json(std::span<const ReportRow> rows) {
  Json tensors = Json::object();
  const auto put = [&](const std::string& name, std::size_t place, double value) {
    Json& column = tensors[name];
    if (column.is_null()) column = std::vector<Json>(rows.size());
    column[place] = number_to_json(shorten_to(value, page_digits));
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].record->verification) continue;
    for (const auto& [tensor, verdict] : rows[i].record->verification->tensors) {
      put(tensor + "/error", i, verdict.rel_l2);
      put(tensor + "/bound", i, verdict.bound);
    }
  }
  return tensors;
}

/// Keyed by the record's place among all records; only records with stages are in it.
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
    notes.push_back(describe(extension));
  Json json{{"name", results.file},
            {"environment", facts_to_json(results.environment)},
            {"count", results.records.size()},
            {"notes", std::move(notes)}};
  if (!results.places.empty()) json["places"] = results.places;
  return json;
}

}  // namespace

Json page_data(const PageContent& content) {
  const ReportRows all = report_rows(content.files);
  Json files = Json::array(), stages = Json::object();
  for (const Results& results : content.files) files.push_back(file_json(results));
  for (std::size_t i = 0; i < all.rows.size(); ++i) put_stages(i, *all.rows[i].record, stages);
  return {{"format", 3},
          {"program", program_version()},
          {"count", all.rows.size()},
          {"files", std::move(files)},
          {"extents", extents_json()},
          {"columns", columns_json(all.rows)},
          {"tensors", tensors_json(all.rows)},
          {"stages", std::move(stages)},
          {"comparison",
           content.comparison != nullptr ? comparison_json(*content.comparison) : Json(nullptr)}};
}

std::string page_text(const PageContent& content) {
  return page_data(content).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gla_bench
