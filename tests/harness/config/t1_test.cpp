#include "harness/config/t1.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/config/sweep.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

const std::string folder = std::string(places::source_dir) + "/tests/harness/config";

KnownAxes known_axes() {
  return {{{"chunk", {16, 32, 64, 128}}, {"block_v", {32, 64, 128, 256}}, {"stages", {1, 2}}},
          {{"chunk", {32}}, {"block_v", {128}}, {"stages", {2}}}};
}

Json space() {
  return read_json_file(folder + "/space.t1.json");
}

Narrowing read_sweep(const Json& document) {
  return read_t1(JsonNode(document, "s.json"), known_axes());
}

/// The complaint about the good document with one member replaced.
std::string complaint(const std::string& pointer, const std::string& value) {
  Json document = space();
  document[Json::json_pointer(pointer)] = parse_json(value, "value");
  try {
    read_sweep(document);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(T1, NamesValuesAndConditionsAreTheDocuments) {
  const Narrowing narrowing = read_sweep(space());
  EXPECT_EQ(narrowing.axes.at("chunk"), (std::vector<int>{16, 32, 64}));
  EXPECT_EQ(narrowing.axes.at("block_v"), (std::vector<int>{32, 64, 128}));
  // An axis that the space does not have is not searched.
  EXPECT_EQ(narrowing.axes.at("stages"), std::vector<int>{2});
  ASSERT_EQ(narrowing.where.size(), 2u);
  EXPECT_EQ(narrowing.where[0].text(), "block_v >= chunk");
}

TEST(T1, ValuesMayBeAnArrayAndTruthANumber) {
  Json document = space();
  Json& parameters = document["ConfigurationSpace"]["TuningParameters"];
  parameters[0]["Values"] = {64, 16, 64};
  parameters.push_back({{"Name", "stages"}, {"Type", "bool"}, {"Values", "[True]"}});
  const Narrowing narrowing = read_sweep(document);
  EXPECT_EQ(narrowing.axes.at("chunk"), (std::vector<int>{64, 16}));
  EXPECT_EQ(narrowing.axes.at("stages"), std::vector<int>{1});
}

TEST(T1, WhatCanNotBeMappedIsRefusedByPointer) {
  const std::string parameter = "/ConfigurationSpace/TuningParameters/0/";
  const std::string condition = "/ConfigurationSpace/Conditions/1/";
  const std::vector<std::array<std::string, 3>> cases{
      {parameter + "Name", R"("chnk")", "an axis of the variant"},
      {"/ConfigurationSpace/TuningParameters/1/Name", R"("chunk")", "not there already"},
      {parameter + "Type", R"("float")", "is a whole number"},
      {parameter + "Type", R"("long")", "a type of T1"},
      {parameter + "Values", R"("[16, 96]")", "of which it has no 96"},
      {parameter + "Values", "[16, 1.5]", "an integer"},
      {parameter + "Values", R"("[16, 4294967312]")", "has no 4294967312"},
      {parameter + "Values", R"("[]")", "a list of whole numbers"},
      {parameter + "Values", R"("[x for x in y]")", "\"y\" has none"},
      {parameter + "Values", R"("16")", "a list of whole numbers"},
      {parameter + "Values", R"("[16, 'a']")", "column 6"},
      {condition + "Parameters", R"(["chunk_size"])", "a parameter of this space"},
      {condition + "Expression", R"("stages == 1")", "which do not have stages"},
      {condition + "Expression", R"("block_v / 2 > 3")", "expected \"//\""},
      {"/ConfigurationSpace/TuningParameters", "[]", "found an empty array"},
      {"/ConfigurationSpace/Constraints", "[]", "Constraints"},
      {"/KernelSpecification/Language", R"("Fortran")", "a language"}};
  for (const auto& [pointer, value, part] : cases) {
    const std::string text = complaint(pointer, value);
    EXPECT_TRUE(text.starts_with("s.json: /")) << text;
    EXPECT_NE(text.find(part), std::string::npos) << pointer << " " << value << ": " << text;
  }
  Json lower = space();
  lower.erase("ConfigurationSpace");
  EXPECT_THROW(read_sweep(lower), InputError);
}

/// A config whose chunk_fused has these tiles.
std::string config(const std::string& tiles) {
  return R"({"sweeps": [{"operator": "gla", "variants": ["chunk_fused"], "dtypes": ["float32"],
             "shapes": [[1, 20, 2, 8, 4]], "tiles": {"chunk_fused": )" +
         tiles + "}}]}";
}

Config read_text(const std::string& text, const std::string& where) {
  const Json document = parse_json(text, "c.json");
  return read_config(JsonNode(document, "c.json"), program_catalog(), where);
}

std::vector<Tile> tiles_of(const Config& config) {
  const Catalog catalog = program_catalog();
  const Variant* variant =
      catalog.find_variant("gla", "chunk_fused", BackendId::host, Direction::forward);
  std::vector<Tile> tiles;
  for (const Candidate& candidate : candidates(*variant, problems(config.sweeps[0])[0],
                                               config.sweeps[0].tiles.at("chunk_fused"), {})
                                        .accepted)
    tiles.push_back(candidate.tile);
  return tiles;
}

TEST(T1, AConfigTakesItAsTilesAndKeepsItWhole) {
  const Config asked = read_text(config(R"({"t1": "space.t1.json"})"), folder);
  const auto tiles = tiles_of(asked);
  EXPECT_EQ(tiles.size(), 8u);  // 3 times 3, without block_v 32 for chunk 64
  for (const Tile& tile : tiles) EXPECT_GE(tile.at("block_v"), tile.at("chunk"));
  // What a results file keeps needs the T1 file no more.
  const Json written = config_to_json(asked);
  const Config again = read_config(JsonNode(written, "again"), program_catalog(), "/nowhere");
  EXPECT_EQ(config_to_json(again).dump(), written.dump());
  EXPECT_EQ(tiles_of(again), tiles);
}

TEST(T1, AConfigSaysWhichFileAndWhere) {
  const TemporaryFolder here;
  Json bad = space();
  bad["ConfigurationSpace"]["TuningParameters"][1]["Values"] = "[33]";
  std::ofstream(here.file("bad.json")) << bad.dump();
  const auto complaint = [&](const std::string& tiles) -> std::string {
    try {
      read_text(config(tiles), std::filesystem::path(here.file("x")).parent_path().string());
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string place = "c.json: /sweeps/0/tiles/chunk_fused/t1: ";
  const std::string values = complaint(R"({"t1": "bad.json"})");
  EXPECT_TRUE(values.starts_with(place + here.file("bad.json") +
                                 ": /ConfigurationSpace/TuningParameters/1/Values: found"))
      << values;
  EXPECT_NE(complaint(R"({"t1": "none.json"})").find("is no file"), std::string::npos);
  EXPECT_NE(complaint(R"({"t1": "bad.json", "chunk": [16]})").find("chunk"), std::string::npos);
}

TEST(Where, NarrowsATileSpaceAndIsCheckedWhenRead) {
  const auto tiles = tiles_of(read_text(config(R"({"where": ["block_v == 2 * chunk"]})"), ""));
  EXPECT_EQ(tiles.size(), 4u);
  for (const Tile& tile : tiles) EXPECT_EQ(tile.at("block_v"), 2 * tile.at("chunk"));
  for (const auto& [tilespec, part] : std::vector<std::pair<std::string, std::string>>{
           {R"({"where": ["block_w == 2"]})", "did you mean block_v?"},
           {R"({"where": ["block_v =="]})", "column 11: found its end"},
           {R"({"where": []})", "an empty array"},
           {R"({"where": [1]})", "a string"}})
    try {
      read_text(config(tilespec), "");
      FAIL() << "accepted: " << tilespec;
    } catch (const InputError& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.starts_with("c.json: /sweeps/0/tiles/chunk_fused/where")) << text;
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace gla_bench
