#include "harness/report/text/rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "harness/records/environment.hpp"
#include "harness/records/record_json.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/bound_by.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

const Json* worst_tensor(const Json& tensors) {
  const Json* worst = nullptr;
  double most = -1;
  for (const auto& [name, tensor] : tensors.items()) {
    if (!tensor["rel_l2"].is_number()) return &tensor;  // "nan": nothing is worse
    const double share = tensor["rel_l2"].get<double>() / tensor["bound"].get<double>();
    if (share > most) most = share, worst = &tensor;
  }
  return worst;
}

std::string pairs_of(const Json& object) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : object.items())
    parts.push_back(key + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
  return join(parts, ",");
}

Json median_of(const Json& record, const char* series) {
  if (!record.contains("timing") || record["timing"].is_null()) return nullptr;
  const Json& timing = record["timing"];
  return timing.contains(series) && timing[series].is_object() ? timing[series]["median_ms"]
                                                               : Json(nullptr);
}

void put_measures(const Json& record, double copy_gb_per_s, Json& row) {
  const Json& io = record["io"];
  const double floor = io["floor_bytes"].get<double>();
  const Json cold = median_of(record, "cold");
  row["cold_ms"] = cold;
  row["hot_ms"] = median_of(record, "hot");
  row["of_floor"] = nullptr;
  if (cold.is_number() && cold.get<double>() > 0 && copy_gb_per_s > 0)
    row["of_floor"] = floor / (copy_gb_per_s * 1e6) / cold.get<double>();
  row["floor_bytes"] = floor;
  row["model_bytes"] = io["model_read_bytes"].get<double>() + io["model_write_bytes"].get<double>();
  row["measured_bytes"] = nullptr;
  if (io.contains("measured") && io["measured"].contains("dram_read_bytes"))
    row["measured_bytes"] = io["measured"]["dram_read_bytes"].get<double>() +
                            io["measured"]["dram_write_bytes"].get<double>();
  row["workspace_bytes"] = io["workspace_bytes"];
  row["error"] = nullptr;
  row["bound"] = nullptr;
  if (record.contains("verification") && record["verification"].is_object())
    if (const Json* tensor = worst_tensor(record["verification"]["tensors"]))
      row["error"] = (*tensor)["rel_l2"], row["bound"] = (*tensor)["bound"];
  row["joules"] = nullptr;
  if (record.contains("energy") && record["energy"].is_object() &&
      record["energy"].contains("joules_per_call"))
    row["joules"] = record["energy"]["joules_per_call"];
}

Json known(double value) {
  return std::isnan(value) ? Json(nullptr) : Json(value);
}

void put_bound(const Record& record, const Facts& environment, Json& row) {
  const BoundVerdict verdict = bound_by(record, environment);
  row["of_copy"] = known(verdict.of_copy);
  row["of_peak"] = known(verdict.of_peak);
  row["bound_by"] = verdict.by ? Json(name(*verdict.by)) : Json(nullptr);
  row["bound_why"] = verdict.by ? Json(verdict.why) : Json(nullptr);
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The name under which records have a dtype; any other value as it is.
std::string spelled_out(const std::string& value) {
  const std::optional<DType> dtype = parse_dtype(value);
  return dtype ? std::string(name(*dtype)) : value;
}

/// What a condition may ask for: the row, and the axes of its tile and its options.
Json fields_of(const Results& results, std::size_t index) {
  Json fields = flat_row(results, index);
  const Record& record = results.records[index];
  for (const auto& [axis, value] : record.tile)
    if (!fields.contains(axis)) fields[axis] = value;
  for (const auto& [option, value] : record.problem.options)
    if (!fields.contains(option)) fields[option] = value;
  return fields;
}

}  // namespace

Json flat_row(const Results& results, std::size_t index) {
  const Record& of = results.records[index];
  const Json record = record_to_json(of);
  Json row = Json::object();
  row["file"] = results.file;
  row["row"] = place_in_file(results, index);
  for (const char* key : {"operator", "direction", "dtype", "layout"}) row[key] = record[key];
  for (const auto& [axis, extent] : record["shape"].items()) row[axis] = extent;
  for (const char* key : {"gate", "seed", "initial_state", "final_state"})
    row[key] = record.contains(key) ? record[key] : Json(nullptr);
  Json options = Json::object();
  for (const auto& [key, value] : of.problem.options) options[key] = value;
  row["options"] = pairs_of(options);
  row["variant"] = record["variant"];
  row["tile"] = pairs_of(record["tile"]);
  row["backend"] = record["backend"];
  row["device"] = fact_text(results.environment, "device");
  row["peer"] = of.peer;
  row["status"] = record["status"];
  row["reason"] = of.reason.empty() ? Json(nullptr) : Json(of.reason);
  put_measures(record, fact_number(results.environment, "copy_gb_per_s"), row);
  put_bound(of, results.environment, row);
  row["suspect"] = of.timing ? Json(of.timing->suspect) : Json(nullptr);
  row["throttled"] = of.timing ? Json(of.timing->throttled) : Json(nullptr);
  row["source_hash"] = of.source_hash;
  row["command"] = of.peer ? Json(nullptr) : Json(repeat_command(of));
  return row;
}

std::string csv_of(const std::vector<Json>& rows) {
  std::vector<std::string> keys;
  std::set<std::string> known;
  for (const Json& row : rows)
    for (const auto& [key, value] : row.items())
      if (known.insert(key).second) keys.push_back(key);
  std::string text = join(keys, ",") + "\n";
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& key : keys)
      cells.push_back(row.contains(key) ? csv_cell(row[key]) : std::string());
    text += join(cells, ",") + "\n";
  }
  return text;
}

RecordFilter::RecordFilter(std::string_view text) {
  for (const std::string& part : split(text, ',')) {
    const std::size_t at = part.find_first_of("=!<>");
    const std::size_t end = at == std::string::npos ? at : part.find_first_not_of("=!<>", at);
    const std::string relation = end == std::string::npos ? "" : part.substr(at, end - at);
    const std::set<std::string> known{"=", "!=", "<", "<=", ">", ">="};
    if (at == 0 || !known.contains(relation))
      throw InputError("--where: found \"" + part +
                       "\", expected key=value, key!=value, or key<number with <, <=, >, >=");
    Condition condition{part.substr(0, at), relation, split(part.substr(end), '|')};
    for (std::string& value : condition.values) {
      if (relation[0] != '=' && relation != "!=" && !number_in(value))
        throw InputError("--where: found \"" + part + "\", expected a number behind " + relation);
      value = spelled_out(value);
    }
    conditions_.push_back(std::move(condition));
  }
}

bool RecordFilter::holds(const Condition& condition, const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const std::string& relation = condition.relation;
  if (relation == "=" || relation == "!=") {
    const bool equal = std::any_of(
        condition.values.begin(), condition.values.end(), [&](const std::string& wanted) {
          const std::optional<double> number = number_in(wanted);
          return text == wanted || (number && value.is_number() && value.get<double>() == *number);
        });
    return equal == (relation == "=");
  }
  if (!value.is_number()) return false;
  const double is = value.get<double>(), limit = *number_in(condition.values.front());
  if (relation == "<") return is < limit;
  if (relation == "<=") return is <= limit;
  return relation == ">" ? is > limit : is >= limit;
}

std::vector<Results> RecordFilter::of(const std::vector<Results>& files) const {
  std::set<std::string> there;
  std::vector<Results> chosen;
  for (const Results& results : files) {
    Results some = results;
    some.records.clear();
    some.places.clear();
    for (std::size_t i = 0; i < results.records.size(); ++i) {
      const Json fields = fields_of(results, i);
      for (const auto& [key, value] : fields.items()) there.insert(key);
      const bool all =
          std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
            return fields.contains(condition.key) && holds(condition, fields[condition.key]);
          });
      if (!all) continue;
      some.records.push_back(results.records[i]);
      some.places.push_back(place_in_file(results, i));
    }
    chosen.push_back(std::move(some));
  }
  for (const Condition& condition : conditions_)
    if (!there.empty() && !there.contains(condition.key))
      throw InputError("--where: no record has \"" + condition.key +
                       "\"; there are: " + join({there.begin(), there.end()}));
  return chosen;
}

}  // namespace gla_bench
