#include "harness/tuned_table/table_file.hpp"

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "harness/records/record_json.hpp"
#include "harness/support/output_file.hpp"
#include "harness/support/system/own_files.hpp"

namespace gla_bench {
namespace {

Json tile_to_json(const Tile& tile) {
  return tile.empty() ? Json::object() : Json(tile);
}

Json choice_to_json(const TunedChoice& choice) {
  return {{"variant", choice.variant},
          {"tile", tile_to_json(choice.tile)},
          {"source_hash", choice.source_hash},
          {"error", number_to_json(choice.error)},
          {"workspace_bytes", number_to_json(choice.workspace_bytes)},
          {"ratio", number_to_json(choice.ratio)},
          {"low", number_to_json(choice.low)},
          {"high", number_to_json(choice.high)}};
}

Json choices_to_json(const std::vector<TunedChoice>& choices) {
  Json list = Json::array();
  for (const TunedChoice& choice : choices) list.push_back(choice_to_json(choice));
  return list;
}

Json problems_to_json(const TunedEntry& entry) {
  Json list = Json::array();
  for (const TunedProblem& row : entry.problems)
    list.push_back({{"problem", problem_to_json(row.problem)},
                    {"median_ms", number_to_json(row.median_ms)},
                    {"low_ms", number_to_json(row.low_ms)},
                    {"high_ms", number_to_json(row.high_ms)},
                    {"best",
                     {{"variant", row.best_variant},
                      {"tile", tile_to_json(row.best_tile)},
                      {"median_ms", number_to_json(row.best_ms)}}},
                    {"regret", row.regret ? Json(number_to_json(*row.regret)) : Json(nullptr)}});
  return list;
}

Json entry_to_json(const TunedEntry& entry) {
  Json json;
  json["bucket"] = bucket_to_json(entry.bucket);
  json["winner"] = choice_to_json(entry.winner);
  json["won_by"] = entry.won_by;
  json["runner_up"] = entry.runner_up ? choice_to_json(*entry.runner_up) : Json(nullptr);
  json["ties"] = choices_to_json(entry.ties);
  json["others"] = choices_to_json(entry.others);
  json["regret"] = {{"median", number_to_json(entry.median_regret)},
                    {"worst", number_to_json(entry.worst_regret)}};
  json["problems"] = problems_to_json(entry);
  json["candidates"] = entry.candidates;
  json["failed"] = entry.failed;
  json["throttled"] = entry.throttled;
  json["stale"] = entry.stale;
  json["measured"] = entry.measured;
  json["environment"] = entry.environment;
  json["sources"] = entry.sources;
  return json;
}

Tile read_tile(const JsonNode& node) {
  Tile tile;
  for (const auto& [axis, value] : node.members())
    tile[axis] = static_cast<int>(
        value.integer(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  return tile;
}

TunedChoice read_choice(const JsonNode& node) {
  node.expect_keys(
      {"variant", "tile", "source_hash", "error", "workspace_bytes", "ratio", "low", "high"});
  return {node.at("variant").text(),
          read_tile(node.at("tile")),
          node.at("source_hash").text(),
          node.at("error").any_number(),
          node.at("workspace_bytes").any_number(),
          node.at("ratio").any_number(),
          node.at("low").any_number(),
          node.at("high").any_number()};
}

std::vector<TunedChoice> read_choices(const JsonNode& node) {
  std::vector<TunedChoice> list;
  for (const JsonNode& item : node.items()) list.push_back(read_choice(item));
  return list;
}

TunedProblem read_tuned_problem(const JsonNode& node) {
  node.expect_keys({"problem", "median_ms", "low_ms", "high_ms", "best", "regret"});
  TunedProblem row;
  row.problem = read_problem(node.at("problem"));
  row.median_ms = node.at("median_ms").any_number();
  row.low_ms = node.at("low_ms").any_number();
  row.high_ms = node.at("high_ms").any_number();
  const JsonNode best = node.at("best");
  best.expect_keys({"variant", "tile", "median_ms"});
  row.best_variant = best.at("variant").text();
  row.best_tile = read_tile(best.at("tile"));
  row.best_ms = best.at("median_ms").any_number();
  if (const JsonNode regret = node.at("regret"); !regret.is_null())
    row.regret = regret.any_number();
  return row;
}

std::size_t read_count(const JsonNode& node) {
  return static_cast<std::size_t>(node.integer(0, std::numeric_limits<std::int64_t>::max()));
}

TunedEntry read_entry(const JsonNode& node, std::size_t environments) {
  node.expect_keys({"bucket", "winner", "won_by", "runner_up", "ties", "others", "regret",
                    "problems", "candidates", "failed", "throttled", "stale", "measured",
                    "environment", "sources"});
  TunedEntry entry;
  entry.bucket = read_bucket(node.at("bucket"));
  entry.winner = read_choice(node.at("winner"));
  entry.won_by =
      node.at("won_by").one_of({"time", "error", "workspace", "only"}, "what decides for a winner");
  if (const JsonNode second = node.at("runner_up"); !second.is_null())
    entry.runner_up = read_choice(second);
  entry.ties = read_choices(node.at("ties"));
  entry.others = read_choices(node.at("others"));
  const JsonNode regret = node.at("regret");
  regret.expect_keys({"median", "worst"});
  entry.median_regret = regret.at("median").any_number();
  entry.worst_regret = regret.at("worst").any_number();
  for (const JsonNode& item : node.at("problems").items(1))
    entry.problems.push_back(read_tuned_problem(item));
  entry.candidates = read_count(node.at("candidates"));
  entry.failed = read_count(node.at("failed"));
  entry.throttled = read_count(node.at("throttled"));
  entry.stale = node.at("stale").boolean();
  entry.measured = node.at("measured").text();
  const JsonNode environment = node.at("environment");
  entry.environment = read_count(environment);
  if (entry.environment >= environments)
    environment.fail("the place of one of the " + std::to_string(environments) + " environments");
  for (const JsonNode& item : node.at("sources").items(1)) entry.sources.push_back(item.text());
  return entry;
}

}  // namespace

Json table_to_json(const TunedTable& table) {
  Json json;
  json["tuned_version"] = tuned_version;
  json["device"] = table.device;
  json["backend"] = table.backend;
  json["environments"] = Json::array();
  for (const Facts& facts : table.environments)
    json["environments"].push_back(facts_to_json(facts));
  json["entries"] = Json::array();
  for (const TunedEntry& entry : table.entries) json["entries"].push_back(entry_to_json(entry));
  return json;
}

TunedTable read_table(const JsonNode& node) {
  node.expect_keys({"tuned_version", "device", "backend", "environments", "entries"});
  if (const JsonNode version = node.at("tuned_version");
      version.integer(0, 1000000) != tuned_version)
    version.fail("version " + std::to_string(tuned_version) + " of the tuned table");
  TunedTable table;
  table.path = node.file();
  table.device = node.at("device").text();
  table.backend = node.at("backend").one_of({"host", "cuda"}, "a backend");
  for (const JsonNode& item : node.at("environments").items())
    table.environments.push_back(read_facts(item));
  std::set<Bucket> seen;
  for (const JsonNode& item : node.at("entries").items()) {
    table.entries.push_back(read_entry(item, table.environments.size()));
    if (!seen.insert(table.entries.back().bucket).second)
      item.at("bucket").fail("a bucket that no other entry has");
  }
  return table;
}

TunedTable load_table(const std::string& path) {
  const Json document = read_json_file(path);
  return read_table(JsonNode(document, path));
}

void write_table(const TunedTable& table, const std::string& path) {
  Json head = table_to_json(table);
  const Json entries = std::move(head["entries"]);
  head.erase("entries");
  // Each entry is on its own line, so that a change of one entry changes one line.
  std::string text = head.dump(1);
  text.resize(text.size() - 2);  // the closing "\n}"
  text += ",\n \"entries\": [";
  for (std::size_t i = 0; i < entries.size(); ++i)
    text += (i == 0 ? "\n  " : ",\n  ") + entries[i].dump();
  text += "\n ]\n}\n";
  write_output(path, text, "what it held is kept");
}

std::string table_name(const std::string& device) {
  return device_slug(device) + ".json";
}

std::string default_table_path(const std::string& device) {
  const std::string folder = user_data_folder();
  if (folder.empty())
    throw InputError(
        "no folder for tuned tables: neither XDG_DATA_HOME nor HOME is set; name a "
        "table with --tuned");
  return (std::filesystem::path(folder) / "tuned" / table_name(device)).string();
}

std::optional<std::string> find_table(const std::string& device) {
  return device_file(table_name(device));
}

}  // namespace gla_bench
