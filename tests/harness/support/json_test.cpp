#include "harness/support/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace gla_bench {
namespace {

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no complaint";
}

TEST(Json, SyntaxErrorsNameFileLineAndColumn) {
  const std::string text = complaint([] { parse_json("{\n  \"a\": 1,\n  b\n}", "x.json"); });
  EXPECT_NE(text.find("x.json: not JSON: parse error at line 3, column 3"), std::string::npos)
      << text;
}

TEST(Json, EmptyTextAndTrailingTextAreErrors) {
  EXPECT_NE(complaint([] { parse_json("", "x.json"); }).find("not JSON"), std::string::npos);
  EXPECT_NE(complaint([] { parse_json("{} {}", "x.json"); }).find("not JSON"), std::string::npos);
}

TEST(Json, NumbersThatOverflowAreErrors) {
  EXPECT_NE(complaint([] { parse_json("[1e999]", "x.json"); }).find("not JSON"), std::string::npos);
}

TEST(Json, DuplicateKeysAreErrorsWithTheirPointer) {
  EXPECT_EQ(complaint([] {
              parse_json(R"({"a": [{"b": 1}, {"b": 1, "c/d": {}, "c/d": 2}]})", "x.json");
            }),
            "x.json: /a/1/c~1d: the key stands twice, expected it once");
  EXPECT_EQ(complaint([] { parse_json(R"({"a": {"x": 1}, "b": {"x": 1}})", "x.json"); }),
            "no complaint");
}

TEST(Json, MissingFileIsAnInputError) {
  EXPECT_NE(complaint([] { read_json_file("/nowhere/x.json"); }).find("/nowhere/x.json"),
            std::string::npos);
  EXPECT_NE(complaint([] { read_json_file("/"); }).find("/"), std::string::npos);
}

TEST(Json, ComplaintsSayWhatStoodWhere) {
  const Json document = parse_json(R"({"a": [1, "two", {"c": null}]})", "x.json");
  const JsonNode root(document, "x.json");
  const auto items = root.at("a").items();
  EXPECT_EQ(complaint([&] { items[1].integer(0, 9); }),
            "x.json: /a/1: found \"two\", expected an integer from 0 to 9");
  EXPECT_EQ(complaint([&] { items[0].integer(2, 9); }),
            "x.json: /a/0: found 1, expected an integer from 2 to 9");
  EXPECT_EQ(complaint([&] { items[0].text(); }), "x.json: /a/0: found 1, expected a string");
  EXPECT_EQ(complaint([&] { items[2].at("d"); }),
            "x.json: /a/2: found no key \"d\", expected it here");
  EXPECT_EQ(complaint([&] { root.text(); }),
            "x.json: the whole document: found an object, expected a string");
}

TEST(Json, UnknownKeysSuggestTheNearest) {
  const Json document = parse_json(R"({"varients": 1})", "x.json");
  EXPECT_EQ(complaint([&] {
              JsonNode(document, "x.json").expect_keys({"variants", "dtypes"});
            }),
            "x.json: /varients: found the unknown key \"varients\", expected one of variants, "
            "dtypes (did you mean \"variants\"?)");
}

TEST(Json, IntegersOutOfRangeAndFractionsAreRefused) {
  const Json document = parse_json("[18446744073709551615, 1.5, -1]", "x.json");
  const auto items = JsonNode(document, "x.json").items();
  EXPECT_NE(complaint([&] { items[0].integer(0, 9); }), "no complaint");
  EXPECT_EQ(items[0].unsigned_integer(), 18446744073709551615u);
  EXPECT_NE(complaint([&] { items[1].integer(0, 9); }), "no complaint");
  EXPECT_NE(complaint([&] { items[2].unsigned_integer(); }), "no complaint");
}

TEST(Json, NumbersThatJsonLacksSurvive) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.1, -3.0, 1e-300, infinity, -infinity}) {
    const Json document = parse_json(Json::array({number_to_json(value)}).dump(), "x.json");
    EXPECT_EQ(JsonNode(document, "x.json").items()[0].any_number(), value);
  }
  const Json nan = parse_json(Json::array({number_to_json(std::nan(""))}).dump(), "x.json");
  EXPECT_TRUE(std::isnan(JsonNode(nan, "x.json").items()[0].any_number()));
  EXPECT_NE(complaint([&] { JsonNode(nan, "x.json").items()[0].number(0, 1); }), "no complaint");
}

TEST(Json, NearestKnowsWhenNothingIsNear) {
  EXPECT_EQ(nearest("chunk_fusd", {"recurrent", "chunk_fused"}), "chunk_fused");
  EXPECT_EQ(nearest("chunk", {"recurrent", "chunk_fused"}), "chunk_fused");
  EXPECT_FALSE(nearest("banana", {"recurrent", "chunk_fused"}));
}

TEST(Json, FirstDifferenceNamesThePlace) {
  const Json a = parse_json(R"({"x": [1, {"y": 2}], "z": 3})", "a");
  const Json b = parse_json(R"({"x": [1, {"y": 4}], "z": 3})", "b");
  const Json c = parse_json(R"({"z": 3, "x": [1, {"y": 2}]})", "c");
  EXPECT_FALSE(first_difference(a, a));
  EXPECT_FALSE(first_difference(a, c)) << "the order of keys is no difference";
  EXPECT_EQ(first_difference(a, b), "/x/1/y: 2 here, 4 there");
  EXPECT_EQ(first_difference(parse_json("{\"x\":1}", ""), parse_json("{}", "")),
            "/x: 1 here, nothing there");
  EXPECT_EQ(first_difference(parse_json("[1]", ""), parse_json("[1,2]", "")),
            ": 1 elements here, 2 there");
}

}  // namespace
}  // namespace gla_bench
