#include "harness/report/text/rows.hpp"
#include "harness/records/environment.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "harness/records/results_schema.hpp"
#include "harness/report/row_columns.hpp"
#include "harness/support/printable.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

constexpr std::size_t shown_most = 200;  // of what a user wrote, in a message

/// The members of a shape are columns of their own: those that the row has.
void put(const ReportColumn& column, const ReportRow& row, Json& flat) {
  Json value = column.value(row);
  if (value.is_object())
    flat.update(value);
  else
    flat[column.name] = std::move(value);
}

std::string text_of_value(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  const std::string text = text_of_value(value);
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

/// Whether a value is the wanted one: the same text, or the same number in another spelling.
bool is_value(const Json& value, const std::string& wanted) {
  const std::optional<double> number = number_in(wanted);
  return text_of_value(value) == wanted ||
         (number && value.is_number() && value.get<double>() == *number);
}

/// Whether a field of records may hold the value, whether a record at hand does or not. What its
/// declaration says of it stands in the schema.
bool may_hold(const std::string& key, const std::string& value) {
  if (key == "operator") return find_operator(value) != nullptr;
  const Json fields = results_schema()["$defs"]["record"]["properties"];
  const Json names = fields.value(key, Json::object()).value("enum", Json::array());
  return std::find(names.begin(), names.end(), value) != names.end();
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
  const ReportRow row = row_without_contest(results, index);
  Json flat = Json::object();
  for (const ReportColumn& column : report_columns())
    if (column.in_text && !column.of_contest) put(column, row, flat);
  return flat;
}

std::vector<Json> flat_rows(std::span<const Results> files) {
  std::vector<Json> list;
  const ReportRows all = report_rows(files);
  for (const ReportRow& row : all.rows) {
    Json& flat = list.emplace_back(Json::object());
    for (const ReportColumn& column : report_columns())
      if (column.in_text) put(column, row, flat);
  }
  return list;
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
      throw InputError("--where: found \"" + printable(part, shown_most) +
                       "\", expected key=value, key!=value, or key<number with <, <=, >, >=");
    Condition condition{part.substr(0, at), relation, split(part.substr(end), '|')};
    for (std::string& value : condition.values) {
      if (relation[0] != '=' && relation != "!=" && !number_in(value))
        throw InputError("--where: found \"" + printable(part, shown_most) +
                         "\", expected a number behind " + relation);
      value = spelled_out(value);
    }
    conditions_.push_back(std::move(condition));
  }
}

bool RecordFilter::holds(const Condition& condition, const Json& value) {
  const std::string& relation = condition.relation;
  if (relation == "=" || relation == "!=") {
    const bool equal =
        std::any_of(condition.values.begin(), condition.values.end(),
                    [&](const std::string& wanted) { return is_value(value, wanted); });
    return equal == (relation == "=");
  }
  if (!value.is_number()) return false;
  const double is = value.get<double>(), limit = *number_in(condition.values.front());
  if (relation == "<") return is < limit;
  if (relation == "<=") return is <= limit;
  return relation == ">" ? is > limit : is >= limit;
}

void RecordFilter::refuse_unknown_values(
    const std::map<std::string, std::set<Json>>& values) const {
  constexpr std::size_t most_named = 20;
  for (const Condition& condition : conditions_) {
    const auto known = values.find(condition.key);
    if (known == values.end() || condition.relation != "=") continue;
    for (const std::string& wanted : condition.values) {
      const bool there = std::any_of(known->second.begin(), known->second.end(),
                                     [&](const Json& value) { return is_value(value, wanted); });
      if (there || may_hold(condition.key, wanted)) continue;
      std::vector<std::string> some;
      for (const Json& value : known->second) some.push_back(text_of_value(value));
      const bool more = some.size() > most_named;
      if (more) some.resize(most_named);
      throw InputError(
          "--where: found " + printable(condition.key + condition.relation + wanted, shown_most) +
          ", but no record has that value; there are: " + join(some) + (more ? " and others" : ""));
    }
  }
}

std::vector<Results> RecordFilter::of(const std::vector<Results>& files) const {
  std::set<std::string> there;
  std::map<std::string, std::set<Json>> values;  // of the keys that conditions name
  std::vector<Results> chosen;
  for (const Results& results : files) {
    Results some = results;
    some.records.clear();
    some.places.clear();
    some.environment.erase(std::string(candidates_asked));  // what is left out is not missing
    for (std::size_t i = 0; i < results.records.size(); ++i) {
      const Json fields = fields_of(results, i);
      for (const auto& [key, value] : fields.items()) there.insert(key);
      for (const Condition& condition : conditions_)
        if (fields.contains(condition.key)) values[condition.key].insert(fields[condition.key]);
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
      throw InputError("--where: no record has \"" + printable(condition.key, shown_most) +
                       "\"; there are: " + join({there.begin(), there.end()}));
  refuse_unknown_values(values);
  return chosen;
}

}  // namespace gla_bench
