#include "harness/config/candidates/manifest.hpp"

#include "tests/harness/config/candidates/example.hpp"

namespace gla_bench {
namespace {

std::string complaint_of_manifest(const Json& json) {
  try {
    example::read(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no complaint";
}

TEST(Manifest, WhatIsReadIsWrittenAndReadsTheSame) {
  const Json written = manifest_to_json(example::read(example::manifest()));
  EXPECT_EQ(manifest_to_json(example::read(written)), written);
  EXPECT_EQ(written["launches"][0]["arguments"], example::manifest()["launches"][0]["arguments"]);
  EXPECT_EQ(written["dtypes"], example::manifest()["dtypes"]);
  EXPECT_EQ(written["reproducible"], true);
}

// File, JSON pointer, what stood there and what was expected.
TEST(Manifest, ComplaintsSayWhereAndWhat) {
  struct Case {
    const char* pointer;
    Json value;
    const char* complaint;
  };
  const std::vector<Case> cases{
      {"/operator", "glaa", "m.json: /operator: found \"glaa\", expected an operator"},
      {"/variant", "auto", "m.json: /variant: found \"auto\", expected a name that begins"},
      {"/variant", "1st", "m.json: /variant: found \"1st\", expected a name that begins"},
      {"/variant", "A", "m.json: /variant: found \"A\", expected a text of the letters"},
      {"/direction", "sideways", "/direction: found \"sideways\", expected a direction"},
      {"/dtypes", Json::object(), "m.json: /dtypes: found an object, expected at least one dtype"},
      {"/dtypes/fp8", "float32", "/dtypes/fp8: found the unknown key \"fp8\""},
      {"/dtypes/float32", "int8", "/dtypes/float32: found \"int8\", expected an arithmetic"},
      {"/layouts", Json::array(), "m.json: /layouts: found an empty array"},
      {"/options/0", "in_plac", "/options/0: found \"in_plac\", expected an option of gla"},
      {"/constants/KEY_DIM", "key_dm", "which has no key_dm (did you mean key_dim?)"},
      {"/constants/KEY_DIM", "arch", "which has no arch"},
      {"/constants/KEY_DIM", "key_dim /",
       "m.json: /constants/KEY_DIM: found \"key_dim /\", "
       "expected an expression that can be read: column 9"},
      {"/constants/KEY_DIM", 1.5, "m.json: /constants/KEY_DIM: found 1.5"},
      {"/constants/KEY_DIM", true, "found true, expected a whole number, or an expression as text"},
      {"/constants/1", 1, "m.json: /constants/1: found 1, expected a macro whose name has"},
      {"/tile/0/name", "seq", "/tile/0/name: found \"seq\", expected a name that nothing else"},
      {"/tile/0/name", "arch", "/tile/0/name: found \"arch\", expected a name that nothing else"},
      {"/tile/0/name", "a b", "/tile/0/name: found \"a b\", expected the name of an axis"},
      {"/tile/0/values", Json::array(), "m.json: /tile/0/values: found an empty array"},
      {"/tile/0/values", {32, 32}, "m.json: /tile/0/values: found an array, expected values that"},
      {"/requires/0/condition", "no_such > 1", "which has no no_such"},
      {"/requires/0/message", "", "/requires/0/message: found \"\", expected why it is refused"},
      {"/workspace", Json::array({Json{{"name", "q"}, {"bytes", 4}}}),
       "m.json: /workspace/0/name: found \"q\", expected a name that no other region or tensor"},
      {"/launches", Json::array(), "m.json: /launches: found an empty array"},
      {"/launches/0/entry", "f<int>", "/launches/0/entry: found \"f<int>\", expected the name"},
      {"/launches/0/entry", nullptr, "m.json: /launches/0: "},
      {"/launches/0/grid",
       {1, 1, 1, 1},
       "m.json: /launches/0/grid: found an array, expected at most three"},
      {"/launches/0/arguments", Json::array(),
       "m.json: /launches/0/arguments: found an empty array"},
      {"/launches/0/arguments/0", "qq",
       "m.json: /launches/0/arguments/0: found \"qq\", expected a "
       "tensor of gla, a region or \"scale\""},
      {"/launches/0/arguments/0", {{"int8", 1}}, "/launches/0/arguments/0/int8: found the unknown"},
      {"/launches/0/arguments/0", {{"int32", "q_stride_9"}}, "which has no q_stride_9"},
      {"/launches/0/zero", "partials", "the unknown key"},
      {"/launches/1", {{"zero", "partials"}}, "m.json: /launches/1/zero: found \"partials\""},
      {"/launches/0/bytes", {{"read", "keys"}, {"write", 1}}, "which has no keys"},
      {"/flops", "keys", "m.json: /flops: found \"keys\""},
      {"/speed", 1, "m.json: /speed: found the unknown key \"speed\""}};
  for (const auto& [pointer, value, expected] : cases) {
    const std::string said = complaint_of_manifest(example::changed(pointer, value));
    EXPECT_NE(said.find(expected), std::string::npos) << pointer << " " << value << ": " << said;
  }
}

Json function_manifest() {
  return {{"variant", "in_python"},
          {"operator", "gla"},
          {"backend", "host"},
          {"dtypes", {{"float32", "float32"}}},
          {"function", "mine.py:in_python"},
          {"framework", "numpy"},
          {"arguments", {"q", "k", "v", "g", "scale", "seq", "initial_state"}}};
}

TEST(Manifest, OfAFunctionIsWrittenAndReadsTheSame) {
  const Json written = manifest_to_json(example::read(function_manifest()));
  EXPECT_EQ(manifest_to_json(example::read(written)), written);
  EXPECT_EQ(written["arguments"], function_manifest()["arguments"]);
  EXPECT_FALSE(written.contains("source"));
  EXPECT_FALSE(written.contains("launches"));
}

TEST(Manifest, ComplaintsOfFunctions) {
  struct Case {
    const char* key;
    Json value;
    const char* complaint;
  };
  const std::vector<Case> cases{
      {"source", "a.cu", "m.json: /source: found \"a.cu\", expected no such key of a function"},
      {"constants", {{"A", 1}}, "/constants: found an object, expected no such key of a function"},
      {"function", "mine.py", "/function: found \"mine.py\", expected a function in Python"},
      {"function", ".py:f", "/function: found \".py:f\", expected a function in Python"},
      {"function", "mine.py:a b", "/function: found \"mine.py:a b\", expected a function in"},
      {"function", "", "/function: found \"\", expected a function in Python, as file.py:name"},
      {"framework", "tensorflow", "/framework: found \"tensorflow\", expected a framework"},
      {"framework", "cupy", "/framework: found \"cupy\", expected a framework with tensors on"},
      {"framework", nullptr, "framework"},
      {"arguments", Json::array(), "/arguments: found an empty array"},
      {"arguments", {"q", "q"}, "/arguments: found an array, expected names that differ"},
      {"arguments", {"q", "gate"}, "/arguments/1: found \"gate\", expected a tensor, an extent"}};
  for (const auto& [key, value, expected] : cases) {
    Json json = function_manifest();
    if (value.is_null())
      json.erase(key);
    else
      json[key] = value;
    const std::string said = complaint_of_manifest(json);
    EXPECT_NE(said.find(expected), std::string::npos) << key << " " << value << ": " << said;
  }
  Json json = function_manifest();
  json["backend"] = "cuda";
  for (const char* framework : {"numpy", "jax"}) {
    json["framework"] = framework;
    EXPECT_NE(complaint_of_manifest(json).find("with tensors on the backend cuda"),
              std::string::npos);
  }
}

TEST(Manifest, AKernelHasNothingOfAFunction) {
  EXPECT_NE(complaint_of_manifest(example::changed("/arguments", {"q"}))
                .find("/arguments: found an array, expected no such key of a kernel"),
            std::string::npos);
  EXPECT_NE(complaint_of_manifest(example::changed("/backend", "host"))
                .find("/backend: found \"host\", expected \"cuda\", where kernels run"),
            std::string::npos);
  EXPECT_NE(complaint_of_manifest(example::changed("/source", nullptr)).find("source"),
            std::string::npos);
}

TEST(Manifest, StagesAreOfAllLaunchesOrOfNone) {
  Json json = example::manifest();
  json["launches"].push_back(json["launches"][0]);
  json["launches"][1]["stage"] = "second";
  EXPECT_EQ(complaint_of_manifest(json).find("m.json: /launches/1: "), 0u);
  json["launches"][0]["stage"] = "first";
  EXPECT_EQ(complaint_of_manifest(json), "no complaint");
}

TEST(Manifest, ZeroingAloneIsNoKernel) {
  Json json = example::manifest();
  json["workspace"] = Json::array({Json{{"name", "partials"}, {"bytes", 4}}});
  json["launches"] = Json::array({Json{{"zero", "partials"}}});
  EXPECT_NE(complaint_of_manifest(json).find("expected a launch of a kernel"), std::string::npos);
}

TEST(Manifest, AStepThatZeroesIsWrittenWithoutWhatKernelsHave) {
  Json json = example::manifest();
  json["workspace"] = Json::array({Json{{"name", "partials"}, {"bytes", 4}}});
  json["launches"].insert(json["launches"].begin(), Json{{"zero", "partials"}});
  const Json written = manifest_to_json(example::read(json));
  EXPECT_EQ(written["launches"][0], json["launches"][0]);
  EXPECT_EQ(manifest_to_json(example::read(written)), written);
}

TEST(Manifest, TilesAreLimited) {
  Json json = example::manifest();
  Json values = Json::array();
  for (int i = 0; i < 400; ++i) values.push_back(i);
  json["tile"] = Json::array({Json{{"name", "a"}, {"values", values}}});
  json["requires"] = Json::array();
  json["launches"][0]["block"] = {32};
  json["launches"][0]["grid"] = {1};
  EXPECT_EQ(complaint_of_manifest(json), "no complaint");
  json["tile"].push_back(Json{{"name", "b"}, {"values", values}});
  EXPECT_NE(complaint_of_manifest(json).find("expected at most 100000 tiles"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench
