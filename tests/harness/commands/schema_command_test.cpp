// gla-bench schema, and the schemas that are committed.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/support/json.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"

namespace gla_bench {
namespace {

constexpr std::string_view ending = ".schema.json";

std::map<std::string, std::string> committed_schemas() {
  std::map<std::string, std::string> texts;
  const auto folder = std::filesystem::path(places::source_dir) / "configs" / "schema";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(ending))
      texts[file.substr(0, file.size() - ending.size())] = read_text_file(entry.path().string());
  }
  return texts;
}

TEST(SchemaCommand, PrintsEachCommittedSchema) {
  const auto schemas = committed_schemas();
  ASSERT_GE(schemas.size(), 9u);
  for (const auto& [name, text] : schemas) {
    // A new variant changes no committed file.
    const std::string arguments = name == "config" ? name + " --any-variant" : name;
    const Outcome outcome = program("schema " + arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_TRUE(outcome.text == text)
        << "configs/schema/" << name << ending << " is out of date: gla-bench schema " << arguments
        << " > configs/schema/" << name << ending << "; it differs first at "
        << first_difference(parse_json(text, name), parse_json(outcome.text, name))
               .value_or("a space");
  }
}

TEST(SchemaCommand, NamesTheProgramsVariants) {
  const Json schema = parse_json(program("schema config").text, "schema config");
  const Json& sweep = schema["$defs"]["sweep_of_gla"]["properties"];
  const Json& names = sweep["tiles"]["propertyNames"]["enum"];
  EXPECT_EQ(std::count(names.begin(), names.end(), "recurrent"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "auto"), 0);
  const Json& some = sweep["variants"]["oneOf"][1]["items"]["enum"];
  EXPECT_EQ(std::count(some.begin(), some.end(), "auto"), 1);
}

TEST(SchemaCommand, ListsThemAllWithoutAName) {
  const Outcome outcome = program("schema");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  for (const auto& [name, text] : committed_schemas())
    EXPECT_TRUE(outcome.has("\n" + name + ": ") || outcome.text.starts_with(name + ": ")) << name;
}

TEST(SchemaCommand, RefusesAnotherName) {
  const Outcome outcome = program("schema result");
  EXPECT_EQ(outcome.code, 2) << outcome.text;
  EXPECT_TRUE(outcome.has("found \"result\", expected one of accuracy, candidates, comparison, config"))
      << outcome.text;
  EXPECT_TRUE(outcome.has("did you mean \"results\"?")) << outcome.text;
}

}  // namespace
}  // namespace gla_bench
