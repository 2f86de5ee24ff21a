#include "harness/config/config.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "core/error.hpp"
#include "core/operator.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

Config read(const std::string& text, const std::string& folder = "") {
  const Json document = parse_json(text, "c.json");
  return read_config(JsonNode(document, "c.json"), toy::catalog(), folder);
}

/// A sweep that is right, with members added or replaced.
std::string config_with(const std::string& members, const std::string& outer = "") {
  Json sweep = parse_json(R"({"operator": "toy", "variants": ["fast"], "dtypes": ["float32"],
                              "shapes": [[1, 8, 2, 4, 4]]})",
                          "base");
  const Json added = parse_json("{" + members + "}", "added");
  for (const auto& [key, value] : added.items()) {
    if (value == "REMOVE")
      sweep.erase(key);
    else
      sweep[key] = value;
  }
  Json document;
  document["sweeps"] = Json::array({sweep});
  document.update(parse_json("{" + outer + "}", "outer"));
  return document.dump();
}

TEST(Config, DefaultsAreWrittenOut) {
  const Config config = read(config_with(""));
  ASSERT_EQ(config.sweeps.size(), 1u);
  const Sweep& sweep = config.sweeps[0];
  EXPECT_FALSE(config.backend.has_value());
  EXPECT_EQ(sweep.gates, std::vector<std::string>{"mild"});
  EXPECT_EQ(sweep.layouts, std::vector<Layout>{Layout::seq_first});
  EXPECT_EQ(sweep.initial_state, std::vector<bool>{false});
  EXPECT_EQ(sweep.final_state, std::vector<bool>{true});
  EXPECT_FALSE(sweep.refusals_allowed);
  EXPECT_EQ(sweep.shapes[0], (Shape{1, 8, 2, 4, 4}));
}

TEST(Config, SeveralOperatorsAreASweepEach) {
  const Catalog catalog = program_catalog();
  const Json document = parse_json(R"({"sweeps": [{"operator": ["gla", "retention", "gla"],
      "variants": ["recurrent"], "dtypes": ["bf16"], "direction": ["forward"],
      "shapes": [{"batch": 1, "seq": 8, "heads": 2, "key_dim": 4, "value_dim": 4}]}]})",
                                   "config");
  const Config config = read_config(JsonNode(document, "config"), catalog, "");
  ASSERT_EQ(config.sweeps.size(), 2u);
  EXPECT_EQ(config.sweeps[0].op, "gla");
  EXPECT_EQ(config.sweeps[1].op, "retention");
  EXPECT_EQ(config.sweeps[0].shapes, config.sweeps[1].shapes);
}

TEST(Config, OperatorsWithGatesHaveThemWhereNothingIsSaid) {
  for (const auto& [op, gate] : std::map<std::string, std::string>{{"gla", "mild"},
                                                                   {"simple_gla", "mild"},
                                                                   {"rwkv6", "rwkv"},
                                                                   {"retention", "retnet"},
                                                                   {"linear_attention", "none"},
                                                                   {"decay_attention", "mild"},
                                                                   {"softmax", "normal"}})
    EXPECT_EQ(default_gate(*find_operator(op)), gate) << op;
}

TEST(Config, AllNamesEveryVariantOnceAndAllowsRefusals) {
  const Config config = read(config_with(R"("variants": "all", "gates": "all")"));
  EXPECT_EQ(config.sweeps[0].variants,
            (std::vector<std::string>{"fast", "slow", "device_only", "picky"}));
  EXPECT_TRUE(config.sweeps[0].refusals_allowed);
  EXPECT_EQ(config.sweeps[0].gates, (std::vector<std::string>{"mild", "strong"}));
}

TEST(Config, ShapesAsProductAndZip) {
  const auto product = read(config_with(
      R"("shapes": {"product": {"batch": [1, 2], "seq": 8, "heads": 1, "key_dim": [4, 8], "value_dim": 4}})"));
  ASSERT_EQ(product.sweeps[0].shapes.size(), 4u);
  EXPECT_EQ(product.sweeps[0].shapes[1], (Shape{1, 8, 1, 8, 4}));
  EXPECT_EQ(product.sweeps[0].shapes[2], (Shape{2, 8, 1, 4, 4}));
  const auto zip = read(config_with(
      R"("shapes": {"zip": {"batch": [1, 2], "seq": [8, 16], "heads": [3], "key_dim": 4, "value_dim": 4}})"));
  EXPECT_EQ(zip.sweeps[0].shapes, (std::vector<Shape>{{1, 8, 3, 4, 4}, {2, 16, 3, 4, 4}}));
}

TEST(Config, RelativePathsStartAtTheConfigsFolder) {
  const std::string text = config_with(
      R"("tensors": {"file": "x.safetensors", "q": "model.q"}, "shapes": "REMOVE", "dtypes": "REMOVE")",
      R"("policy": {"tolerance": "../t.json"})");
  const Config config = read(text, "a/b");
  EXPECT_EQ(config.sweeps[0].tensors->file, "a/b/x.safetensors");
  EXPECT_EQ(config.sweeps[0].tensors->names.at("q"), "model.q");
  EXPECT_EQ(config.policy.tolerance, "a/t.json");
}

TEST(Config, WritingAndReadingBackGivesTheSame) {
  for (const std::string& text :
       {config_with(R"("variants": "all", "gates": "all", "scale": 0.5, "seed": 7,
                       "initial_state": [false, true], "final_state": false,
                       "tiles": {"fast": {"chunk": [64, 16]}}, "max_tiles": 2,
                       "layouts": ["head_first", "seq_first"])",
                    R"("backend": "host", "description": "d",
                       "policy": {"timing": {"warmup": 0, "hot": false, "max_noise": 0.25},
                                  "verification": {"reference": "device"}, "tolerance": "t"})"),
        config_with(R"("tensors": {"file": "x"}, "shapes": "REMOVE", "dtypes": "REMOVE")")}) {
    const Json once = config_to_json(read(text));
    EXPECT_EQ(once, config_to_json(read(once.dump()))) << once.dump(1);
  }
  const Json json = config_to_json(read(config_with(R"("scale": 0.5, "max_tiles": 2)")));
  EXPECT_EQ(json["sweeps"][0]["scale"], 0.5);
  EXPECT_EQ(json["sweeps"][0]["max_tiles"], 2);
}

TEST(Config, EachDirectionIsASweepWithItsOwnVariants) {
  const Json json = parse_json(R"({"sweeps": [{"operator": "attention",
      "direction": ["forward", "backward", "forward"], "variants": "all", "dtypes": ["bfloat16"],
      "shapes": [{"batch": 1, "seq": 8, "heads": 1, "key_dim": 8, "value_dim": 8}]}]})",
                               "c.json");
  const Config config = read_config(JsonNode(json, "c.json"), program_catalog(), "");
  ASSERT_EQ(config.sweeps.size(), 2u);
  EXPECT_EQ(config.sweeps[0].direction, Direction::forward);
  EXPECT_EQ(config.sweeps[1].direction, Direction::backward);
  EXPECT_TRUE(std::ranges::count(config.sweeps[0].variants, "flash_decoding"));
  EXPECT_FALSE(std::ranges::count(config.sweeps[1].variants, "flash_decoding"));
  EXPECT_TRUE(std::ranges::count(config.sweeps[1].variants, "flash2_deterministic"));
}

TEST(Config, TakesOtherNamesOfDtypesAndWritesTheLongOnes) {
  const Json json = parse_json(R"({"sweeps": [{"operator": "gla", "variants": "all",
      "dtypes": ["bf16", "bfloat16", "half"], "shapes": [[1, 8, 1, 8, 8]],
      "options": {"state_dtype": ["bf16", "fp32"]}}]})",
                               "c.json");
  const Config config = read_config(JsonNode(json, "c.json"), program_catalog(), "");
  EXPECT_EQ(config.sweeps.at(0).dtypes, (std::vector{DType::bfloat16, DType::float16}));
  EXPECT_EQ(config.sweeps.at(0).options.at("state_dtype"),
            (std::vector<std::string>{"bfloat16", "float32"}));
  EXPECT_EQ(config_to_json(config)["sweeps"][0]["dtypes"], (Json{"bfloat16", "float16"}));
}

TEST(Config, TakesOptionsAsNumbersAndAsText) {
  for (const char* sizes : {R"([100, "10000"])", R"(["100", 10000])"}) {
    const Json json = parse_json(R"({"sweeps": [{"operator": "gla", "variants": "all",
        "dtypes": ["float32"], "initial_state": true, "shapes": [[1, 8, 1, 8, 8]],
        "options": {"state_size": )" +
                                     std::string(sizes) + "}}]}",
                                 "c.json");
    EXPECT_EQ(read_config(JsonNode(json, "c.json"), program_catalog(), "")
                  .sweeps.at(0)
                  .options.at("state_size"),
              (std::vector<std::string>{"100", "10000"}));
  }
}

struct Bad {
  std::string members, outer, expected;
};

void PrintTo(const Bad& bad, std::ostream* out) {
  *out << bad.members << bad.outer;
}

class BadConfig : public testing::TestWithParam<Bad> {};

TEST_P(BadConfig, NamesFilePointerFindingAndExpectation) {
  const Bad& bad = GetParam();
  try {
    read(config_with(bad.members, bad.outer));
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find("c.json: /"), 0u) << error.what();
    EXPECT_NE(std::string(error.what()).find(bad.expected), std::string::npos)
        << error.what() << "\nexpected to contain: " << bad.expected;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadConfig,
    testing::Values(
        Bad{R"("operator": "glaa")", "",
            R"(/sweeps/0/operator: found "glaa", expected an operator: toy)"},
        Bad{R"("operator": "REMOVE")", "", R"(/sweeps/0: found no key "operator")"},
        Bad{R"("direction": "backward")", "", "/sweeps/0/direction: found \"backward\""},
        Bad{R"("direction": ["forward", "backward"])", "",
            "/sweeps/0/direction/1: found \"backward\""},
        Bad{R"("direction": [])", "", "/sweeps/0/direction: found an empty array"},
        Bad{R"("variants": ["fsat"])", "",
            R"(/sweeps/0/variants/0: found "fsat", expected a variant of toy: fast, slow, device_only, picky)"},
        Bad{R"("variants": "some")", "", R"(/sweeps/0/variants: found "some", expected "all")"},
        Bad{R"("variants": [])", "",
            "/sweeps/0/variants: found an empty array, expected an array of at least 1 element"},
        Bad{R"("dtypes": ["fp8"])", "",
            R"(/sweeps/0/dtypes/0: found "fp8", expected a dtype: float32, bfloat16, float16)"},
        Bad{R"("layouts": ["seq_fist"])", "", R"((did you mean "seq_first"?))"},
        Bad{R"("gates": ["mild", "wild"])", "",
            R"(/sweeps/0/gates/1: found "wild", expected a gate regime of toy: mild, strong (did you mean "mild"?))"},
        Bad{R"("shapes": [])", "", "/sweeps/0/shapes: found an empty array"},
        Bad{R"("shapes": [[1, 2, 3]])", "",
            "/sweeps/0/shapes/0: found an array, expected [batch, seq, heads, key_dim, value_dim]"},
        Bad{R"("shapes": [[1, 8, 2, 513, 4]])", "",
            "/sweeps/0/shapes/0/3: found 513, expected an integer from 1 to 512"},
        Bad{R"("shapes": [[1, 0, 2, 4, 4]])", "", "/sweeps/0/shapes/0/1: found 0"},
        Bad{R"("shapes": [[1.5, 8, 2, 4, 4]])", "", "/sweeps/0/shapes/0/0: found 1.5"},
        Bad{R"("shapes": [{"batch": 1, "seq": 8, "heads": 2, "key_dim": 4}])", "",
            R"(/sweeps/0/shapes/0: found no key "value_dim")"},
        Bad{R"("shapes": [{"batch": 1, "seq": 8, "heads": 2, "key_dim": 4, "value_dim": 4, "depth": 1}])",
            "", R"(/sweeps/0/shapes/0/depth: found the unknown key "depth")"},
        Bad{R"("shapes": [[1048576, 4294967296, 65536, 512, 512]])", "",
            "/sweeps/0/shapes/0: found an array, expected a shape of at most 2^48"},
        Bad{R"("shapes": {"zip": {"batch": [1, 2], "seq": [1, 2, 3], "heads": 1, "key_dim": 4, "value_dim": 4}})",
            "", "/sweeps/0/shapes/zip/batch: found an array, expected a list of 3 values"},
        Bad{R"("shapes": {"product": {"batch": [], "seq": 8, "heads": 1, "key_dim": 4, "value_dim": 4}})",
            "", "/sweeps/0/shapes/product/batch: found an empty array"},
        Bad{R"("shapes": {"produkt": {}})", "", R"((did you mean "product"?))"},
        Bad{R"("shapes": {})", "",
            R"(/sweeps/0/shapes: found an object, expected either "product" or "zip")"},
        Bad{R"("initial_state": "yes")", "", "/sweeps/0/initial_state: found \"yes\""},
        Bad{R"("final_state": [])", "", "/sweeps/0/final_state: found an empty array"},
        Bad{R"("scale": 0)", "", "/sweeps/0/scale: found 0, expected a scale other than 0"},
        Bad{R"("scale": "big")", "", "/sweeps/0/scale: found \"big\", expected a number"},
        Bad{R"("seed": -1)", "", "/sweeps/0/seed: found -1"},
        Bad{R"("tiles": {"slow": {}})", "",
            R"(/sweeps/0/tiles/slow: found the unknown key "slow", expected one of fast)"},
        Bad{R"("tiles": {"fast": {"chnk": [16]}})", "",
            R"(/sweeps/0/tiles/fast/chnk: found the unknown key "chnk", expected one of chunk, warps, where, t1 (did you mean "chunk"?))"},
        Bad{R"("tiles": {"fast": {"chunk": [16, 48]}})", "",
            R"(/sweeps/0/tiles/fast/chunk/1: found 48, expected a value of the axis "chunk": 16, 32, 64)"},
        Bad{R"("max_tiles": -1)", "", "/sweeps/0/max_tiles: found -1"},
        Bad{R"("tensors": {"file": "x"})", "",
            R"(/sweeps/0/shapes: found an array, expected no "shapes" beside "tensors")"},
        Bad{R"("tensors": {"file": "x", "r": "y"}, "shapes": "REMOVE", "dtypes": "REMOVE")", "",
            R"(/sweeps/0/tensors/r: found the unknown key "r", expected one of file, q, initial_state)"},
        Bad{R"("tensors": {"q": "y"}, "shapes": "REMOVE", "dtypes": "REMOVE")", "",
            R"(/sweeps/0/tensors: found no key "file")"},
        Bad{R"("varients": [])", "", R"(/sweeps/0/varients: found the unknown key "varients")"},
        Bad{"", R"("sweeps": [])", "/sweeps: found an empty array"},
        Bad{"", R"("backend": "rocm")",
            R"(/backend: found "rocm", expected a backend: auto, host, cuda)"},
        Bad{"", R"("polisy": {})", R"(did you mean "policy"?)"},
        Bad{"", R"("policy": {"timing": {"min_samples": 0}})",
            "/policy/timing/min_samples: found 0"},
        Bad{"", R"("policy": {"timing": {"min_samples": 9, "max_samples": 8}})",
            "/policy/timing: found an object, expected max_samples (8) of at least min_samples "
            "(9)"},
        Bad{"", R"("policy": {"timing": {"min_seconds": 3, "max_seconds": 2}})",
            "/policy/timing: found an object, expected max_seconds of at least min_seconds"},
        Bad{"", R"("policy": {"timing": {"hot": 1}})",
            "/policy/timing/hot: found 1, expected true or false"},
        Bad{"", R"("policy": {"verification": {"reference": "moon"}})",
            R"(/policy/verification/reference: found "moon")"}));

}  // namespace
}  // namespace gla_bench
