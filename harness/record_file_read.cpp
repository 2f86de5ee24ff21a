// Results files, read: also those whose writer died in the middle of a line.

#include <nlohmann/json.hpp>

#include "harness/error.hpp"
#include "harness/record_file.hpp"
#include "harness/record_json.hpp"

namespace gla_bench {
namespace {

constexpr std::string_view closing = "\n]}\n";
constexpr std::string_view list_start = "\n\"records\": [\n";

/// The text up to its last whole line of a record, closed again; nothing where it is not torn so.
std::optional<std::string> without_torn_tail(const std::string& text) {
  const auto start = text.find(list_start);
  if (start == std::string::npos) return std::nullopt;
  // A whole record's line is followed by ",\n" (the next record's) or by the closing text.
  std::string kept = text;
  while (true) {
    const auto end = kept.rfind('\n');
    if (end == std::string::npos || end < start + list_start.size() - 1) return std::nullopt;
    kept.resize(end);
    if (end == start + list_start.size() - 1) break;  // no record is whole
    const bool comma = kept.back() == ',';
    if (comma) kept.pop_back();
    // "{}" is the first byte of a record over the old closing text.
    if (!kept.ends_with("\n{}") && Json::accept(kept + std::string(closing))) break;
    if (comma) kept += ',';
  }
  return kept + std::string(closing);
}

Fact read_fact(const JsonNode& node) {
  if (node.is_string()) return node.text();
  if (node.is_boolean()) return node.boolean();
  return node.any_number();
}

}  // namespace

Results read_results(const std::string& path) {
  Results results;
  results.file = path;
  std::string text = read_text_file(path);
  if (!Json::accept(text))
    if (auto whole = without_torn_tail(text)) {
      text = std::move(*whole);
      results.torn = true;
    }
  if (text.ends_with(closing))
    results.tail = static_cast<std::int64_t>(text.size() - closing.size());
  const Json document = parse_json(text, path);
  const JsonNode root(document, path);
  root.expect_keys({"schema_version", "environment", "config", "records"});
  root.at("schema_version").integer(schema_version, schema_version);
  for (const auto& [key, fact] : root.at("environment").members())
    results.environment[key] = read_fact(fact);
  if (!root.at("config").is_object()) root.at("config").fail("an object");
  results.config = std::make_shared<const Json>(root.at("config").json());
  for (const JsonNode& record : root.at("records").items())
    results.records.push_back(read_record(record));
  return results;
}

}  // namespace gla_bench
