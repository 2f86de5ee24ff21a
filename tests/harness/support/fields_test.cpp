// One declaration of a struct's fields writes it, reads it and describes it.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/support/fields/columns.hpp"
#include "harness/support/fields/read.hpp"
#include "harness/support/fields/schema.hpp"
#include "harness/support/fields/write.hpp"

namespace gla_bench {
namespace {

enum class Colour { red, green };
std::string_view name(Colour colour) {
  return colour == Colour::red ? "red" : "green";
}

constexpr std::array<std::string_view, 2> sizes{"small", "large"};

struct Part {
  int count = 1;
};

template <class Visitor>
void fields(Visitor& visit, Of<Part>) {
  visit.of("part", "A part.");
  visit("count", &Part::count, {.about = "How many.", .least = 1, .most = 9});
}

struct Whole {
  double length = 0;
  std::optional<double> width;
  std::string size = "small";
  std::vector<Part> parts;
  std::string note;
  Part extra;
  bool old = true;
};

template <class Visitor>
void fields(Visitor& visit, Of<Whole>) {
  using enum Presence;
  visit.of("whole", "Something made of parts.");
  visit("length", &Whole::length, {"Its length.", "metres"});
  visit("width", &Whole::width, {"Its width, or null.", "metres", added});
  visit.derived(
      "area", [](const Whole& whole) { return whole.length * whole.width.value_or(0); },
      {"Length times width."}, [](const Whole& whole) { return whole.width.has_value(); });
  visit("size", &Whole::size, {.about = "Its size.", .names = sizes, .expected = "a size"});
  visit("parts", &Whole::parts, {.about = "Its parts.", .presence = sparse});
  visit("note", &Whole::note, {.about = "A note.", .presence = sparse, .letters = "ab"});
  visit.inlined([](const Whole& whole) -> const Part& { return whole.extra; },
                [](Whole& whole, Part part) { whole.extra = part; });
  visit("old", &Whole::old, {.about = "Whether it is old.", .presence = added});
  visit.check([](const Whole& whole, const JsonNode& node) {
    if (whole.width && *whole.width > whole.length) node.at("width").fail("at most the length");
  });
}

struct Series {
  double median = 0;
  std::optional<double> spread;
  std::int64_t count = 0;
};

template <class Visitor>
void fields(Visitor& visit, Of<Series>) {
  visit.of("series", "A series.");
  visit("median", &Series::median, {.about = "Its median.", .unit = "ms", .column = "ms"});
  visit("spread", &Series::spread, {.about = "Its spread.", .column = "spread"});
  visit("count", &Series::count, {.about = "How many; no column."});
}

struct Timed {
  Colour colour = Colour::red;
  std::optional<Series> cold;
  Series hot, unseen;
};

template <class Visitor>
void fields(Visitor& visit, Of<Timed>) {
  visit.of("run", "A run.");
  visit("colour", &Timed::colour, {.about = "Its colour.", .column = "colour"});
  visit("cold", &Timed::cold, {.about = "Cold.", .column = "cold_*"});
  visit("hot", &Timed::hot, {.about = "Hot.", .column = "*"});
  visit("unseen", &Timed::unseen, {.about = "Of this no column is made."});
}

Whole read(const std::string& text, Nulls nulls = Nulls::missing) {
  const Json document = parse_json(text, "w.json");
  return read_fields<Whole>(JsonNode(document, "w.json"), nulls);
}

std::string error_of(const std::string& text, Nulls nulls = Nulls::missing) {
  try {
    read(text, nulls);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Fields, AreWrittenInOrderWithoutWhatIsBlank) {
  Whole whole;
  whole.length = 2;
  EXPECT_EQ(fields_to_json(whole).dump(),
            R"({"length":2.0,"width":null,"size":"small","count":1,"old":true})");
  whole.width = 1.5;
  whole.parts = {{3}};
  whole.note = "ab";
  EXPECT_EQ(fields_to_json(whole).dump(),
            R"({"length":2.0,"width":1.5,"area":3.0,"size":"small","parts":[{"count":3}],)"
            R"("note":"ab","count":1,"old":true})");
}

TEST(Fields, ComeBackAsTheyWereWritten) {
  Whole whole;
  whole.length = 2;
  whole.width = 1.5;
  whole.size = "large";
  whole.parts = {{3}, {4}};
  whole.extra.count = 5;
  whole.old = false;
  const std::string text = fields_to_json(whole).dump();
  EXPECT_EQ(fields_to_json(read(text)).dump(), text);
}

TEST(Fields, ThatAreMissingKeepTheirDefaults) {
  const Whole whole = read(R"({"length": 1, "size": "small", "count": 2, "old": null})");
  EXPECT_FALSE(whole.width);
  EXPECT_TRUE(whole.old);
  EXPECT_EQ(whole.extra.count, 2);
  EXPECT_EQ(error_of(R"({"length": 1, "size": "small", "count": 2, "old": null})", Nulls::refused),
            "w.json: /old: found null, expected true or false");
}

TEST(Fields, ThatAreWrongAreNamed) {
  const std::string rest = R"("count": 2, "size": "small")";
  EXPECT_EQ(error_of("{" + rest + "}"),
            "w.json: the whole document: found no key \"length\", expected it here");
  EXPECT_EQ(error_of(R"({"length": 1, "size": "smal", "count": 2})"),
            "w.json: /size: found \"smal\", expected a size: small, large (did you mean "
            "\"small\"?)");
  EXPECT_EQ(error_of(R"({"length": 1, "size": "small", "count": 10})"),
            "w.json: /count: found 10, expected an integer from 1 to 9");
  EXPECT_EQ(error_of(R"({"length": 1, "parts": [{"count": 1}, {"count": 0}], )" + rest + "}"),
            "w.json: /parts/1/count: found 0, expected an integer from 1 to 9");
  EXPECT_EQ(error_of(R"({"length": 1, "note": "abc", )" + rest + "}"),
            "w.json: /note: found \"abc\", expected a text of the letters ab");
  EXPECT_EQ(error_of(R"({"length": 1, "width": 2, )" + rest + "}"),
            "w.json: /width: found 2, expected at most the length");
  EXPECT_NE(error_of(R"({"length": 1, "heigth": 2, )" + rest + "}")
                .find("/heigth: found the unknown key \"heigth\", expected one of length, width"),
            std::string::npos);
}

TEST(Fields, DescribeThemselves) {
  SchemaParts parts(true);
  EXPECT_EQ(parts.reference<Whole>().dump(), R"({"$ref":"#/$defs/whole"})");
  const Json& whole = parts.parts()["whole"];
  EXPECT_EQ(whole["description"], "Something made of parts.");
  EXPECT_EQ(whole["required"].dump(), R"(["length","size","count"])");
  EXPECT_EQ(whole["additionalProperties"], false);
  const Json& properties = whole["properties"];
  EXPECT_EQ(properties["length"].dump(),
            R"({"$ref":"#/$defs/number","description":"Its length. Unit: metres."})");
  EXPECT_EQ(properties["size"]["enum"].dump(), R"(["small","large"])");
  EXPECT_EQ(properties["note"]["pattern"], "^[ab]*$");
  EXPECT_EQ(properties["old"]["default"], true);
  EXPECT_EQ(parts.parts()["part"]["properties"]["count"].dump(),
            R"({"type":"integer","minimum":1,"maximum":9,"description":"How many."})");
}

TEST(Fields, NameTheirColumns) {
  const auto columns = field_columns<Timed>();
  std::vector<std::string> names;
  for (const auto& column : columns) names.push_back(column.name);
  EXPECT_EQ(names, (std::vector<std::string>{"colour", "cold_ms", "cold_spread", "ms", "spread"}));
  EXPECT_TRUE(columns[1].has_fraction && columns[2].has_fraction && !columns[0].has_fraction);
  Timed run;
  run.hot.median = 1.5;
  const auto values = [&] {
    Json list = Json::array();
    for (const auto& column : columns) list.push_back(column.value(run));
    return list.dump();
  };
  EXPECT_EQ(values(), R"(["red",null,null,1.5,null])");
  run.cold = Series{2.5, std::nan(""), 3};
  EXPECT_EQ(values(), R"(["red",2.5,"nan",1.5,null])");
}

TEST(Fields, OfAnEnumerationAreItsNames) {
  EXPECT_EQ(field_to_json(Colour::green), "green");
}

}  // namespace
}  // namespace gla_bench
