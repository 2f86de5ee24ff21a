// The schema of results files is made of what the structs declare, as are the files.

#include "harness/records/results_schema.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/records/record_json.hpp"
#include "tests/support/sample_record.hpp"

namespace gla_bench {
namespace {

/// The part of the schema that a {"$ref"} stands for, also where it may be null.
const Json& resolved(const Json& schema, const Json& part) {
  if (part.contains("$ref")) {
    const std::string name = part["$ref"].get<std::string>().substr(std::string("#/$defs/").size());
    return schema["$defs"].at(name);
  }
  if (part.contains("oneOf") && part["oneOf"][0] == Json{{"type", "null"}})
    return resolved(schema, part["oneOf"][1]);
  return part;
}

/// Every member of a value is a property of its part, down to the leaves.
void expect_described(const Json& schema, const Json& part, const Json& value,
                      const std::string& place) {
  const Json& found = resolved(schema, part);
  if (value.is_array() && found.contains("items"))
    for (const Json& item : value) expect_described(schema, found["items"], item, place + "/-");
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    const std::string below = place + "/" + key;
    if (found.contains("properties") && found["properties"].contains(key))
      expect_described(schema, found["properties"][key], member, below);
    else if (found["additionalProperties"].is_object())
      expect_described(schema, found["additionalProperties"], member, below);
    else
      ADD_FAILURE() << below << " is written and not described";
  }
}

TEST(ResultsSchema, DescribesWhatARecordHas) {
  const Json schema = results_schema();
  Record record = sample_record(1);
  record.timing->suspect = true;
  record.timing->suspect_check = "floor";
  record.problem.tensors = "inputs.safetensors";
  record.problem.tensor_names = {{"q", "model.q"}};
  record.problem.options = {{"normalize", "true"}};
  record.wrong_tensors = "wrong.safetensors";
  record.refused_tiles = 2;
  record.seconds = 0.25;
  record.manifest = "my_kernel.json";
  const Json written = record_to_json(record);
  expect_described(schema, schema["properties"]["records"]["items"], written, "");
  for (const auto& [key, property] : schema["$defs"]["record"]["properties"].items())
    EXPECT_TRUE(written.contains(key)) << key << " is described and not written";
}

TEST(ResultsSchema, SaysOfEachFieldWhatItIs) {
  const Json schema = results_schema();
  for (const auto& [name, part] : schema["$defs"].items()) {
    EXPECT_FALSE(part["description"].get<std::string>().empty()) << name;
    if (!part.contains("properties")) continue;
    for (const auto& [key, property] : part["properties"].items()) {
      ASSERT_TRUE(property.contains("description")) << name << "/" << key;
      EXPECT_TRUE(property["description"].get<std::string>().ends_with('.')) << name << "/" << key;
    }
  }
}

}  // namespace
}  // namespace gla_bench
