// The corpus of bad configs that the JSON Schema is held to as well (schema_test.py).

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/config/config.hpp"
#include "harness/support/json.hpp"
#include "tests/support/places.hpp"

namespace gla_bench {
namespace {

const std::string tests = std::string(places::source_dir) + "/tests/harness/config/";

/// The good config with an entry's changes.
Json apply(const Json& good, const Json& entry) {
  if (entry.contains("config")) return entry["config"];
  Json config = good;
  if (entry.contains("remove"))
    for (const auto& pointer : entry["remove"]) {
      const Json::json_pointer path(pointer.get<std::string>());
      config[path.parent_pointer()].erase(path.back());
    }
  if (entry.contains("change"))
    for (const auto& [pointer, value] : entry["change"].items())
      config[Json::json_pointer(pointer)] = value;
  return config;
}

TEST(BadConfigs, TheReaderRefusesEach) {
  const Json good = read_json_file(tests + "good_config.json");
  read_config(JsonNode(good, "good"), program_catalog(), "");
  const Json corpus = read_json_file(tests + "bad_configs.json");
  ASSERT_GT(corpus.size(), 40u);
  for (const Json& entry : corpus) {
    const Json config = apply(good, entry);
    EXPECT_THROW(read_config(JsonNode(config, "bad"), program_catalog(), ""), InputError)
        << entry["name"];
  }
}

TEST(Configs, EveryCheckedInConfigIsRead) {
  std::size_t count = 0;
  const std::filesystem::path folder = std::string(places::source_dir) + "/configs";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const auto& path = entry.path();
    if (path.extension() != ".json" || path.parent_path().filename() == "schema" ||
        path.filename() == "tolerance.json")
      continue;
    ++count;
    const Config config = load_config(path.string(), program_catalog());
    // What results files echo is a config again.
    const Json echo = config_to_json(config);
    EXPECT_EQ(config_to_json(read_config(JsonNode(echo, "echo"), program_catalog(), "")), echo)
        << path;
  }
  EXPECT_GE(count, 3u);
}

}  // namespace
}  // namespace gla_bench
