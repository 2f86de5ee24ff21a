#include "harness/config/space/expression.hpp"

#include <gtest/gtest.h>

#include <map>

#include "harness/config/space/condition.hpp"

namespace gla_bench {
namespace {

using List = std::vector<std::int64_t>;

const std::map<std::string, std::int64_t> known{{"a", 64}, {"b", 48}, {"zero", 0}};

ExpressionValue value(const std::string& text) {
  return evaluate(parse_expression(text), [](const std::string& name) {
    const auto found = known.find(name);
    return found == known.end() ? std::nullopt : std::optional<std::int64_t>(found->second);
  });
}

std::string error(const std::string& text) {
  try {
    value(text);
  } catch (const ExpressionError& fault) {
    return fault.what();
  }
  return "no error";
}

TEST(Expression, HasPythonsPrecedence) {
  const std::map<std::string, std::int64_t> cases{{"1 + 2 * 3", 7},
                                                  {"(1 + 2) * 3", 9},
                                                  {"2 ** 3 ** 2", 512},
                                                  {"-2 ** 2", -4},
                                                  {"2 ** -0 + 1", 2},
                                                  {"7 // 2 * 2", 6},
                                                  {"-7 // 2", -4},
                                                  {"-7 % 3", 2},
                                                  {"7 % -3", -2},
                                                  {"10 - 4 - 3", 3},
                                                  {"a % 16 == 0 and b < a", 1},
                                                  {"not a == 64 or b == 48", 1},
                                                  {"not (a == 64 or b == 48)", 0},
                                                  {"!(a == 64) || b != 48 && a > b", 0},
                                                  {"0 < b < a <= 64", 1},
                                                  {"0 < b < 40 < a", 0},
                                                  {"a in [32, 64]", 1},
                                                  {"a not in (range(0, 128, 64))", 0},
                                                  {"True + true + False", 2},
                                                  {"min(a, b) + max([1, 2]) + abs(-3)", 53},
                                                  {"ceil_div(a, b) + ceil_div(b, a)", 3},
                                                  {"ceil_div(-7, 2) + ceil_div(a, 64)", -2},
                                                  {"zero == 0 or a // zero == 1", 1}};
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(std::get<std::int64_t>(value(text)), expected) << text;
}

TEST(Expression, ListsOfTheFormsThatSpacesUse) {
  EXPECT_EQ(std::get<List>(value("[16, 32,]")), (List{16, 32}));
  EXPECT_EQ(std::get<List>(value("list(range(32, 96+1, 32))")), (List{32, 64, 96}));
  EXPECT_EQ(std::get<List>(value("[1, 2] + list(range(4, 0, -2))")), (List{1, 2, 4, 2}));
  EXPECT_EQ(std::get<List>(value("[2**i for i in range(0, 4)]")), (List{1, 2, 4, 8}));
  EXPECT_EQ(std::get<List>(value("[i for i in range(9) if i % 4 == 1]")), (List{1, 5}));
  EXPECT_EQ(std::get<List>(value("[]")), List{});
}

TEST(Expression, NamesAreThoseFromOutside) {
  EXPECT_EQ(names_in(parse_expression("a < b and c in [i * d for i in range(e) if i > a]")),
            (std::set<std::string>{"a", "b", "c", "d", "e"}));
}

TEST(Expression, SaysWhatStoodWhereAndWhatWasExpected) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"a / 2", "column 3: found \"/\", expected \"//\""},
      {"(a", "column 3: found its end, expected \")\""},
      {"a b", "column 3: found \"b\", expected an operator"},
      {"", "column 1: found its end"},
      {"1.5", "expected a whole number"},
      {"12ab", "expected a whole number"},
      {"open(1)", "column 1: found \"open\", expected a name, or one of the functions"},
      {"__import__('os')", "column 1: found \"__import__\""},
      {"for", "expected a number or a name"},
      {"a == \"x\"", "column 6"},
      {"99999999999999999999", "a smaller number"},
      {"c", "\"c\" has none"},
      {"1 // zero", "no division by 0"},
      {"1 % zero", "no division by 0"},
      {"ceil_div(1, zero)", "no division by 0"},
      {"ceil_div(1)", "two arguments of ceil_div"},
      {"2 ** 63", "within 64 bits"},
      {"9223372036854775807 + 1", "within 64 bits"},
      {"[1] < 2", "a number in place of a list"},
      {"1 in 2", "a list in place of a number"},
      {"[[1]]", "a number in place of a list"},
      {"range(1, 2, 0)", "other than 0"},
      {"min([])", "empty list"},
      {"[max(range(1000)) for i in range(1000000)]", "steps"},
      {"range(10000000)", "steps"},
      {std::string(3000, '('), "at most 2000 characters"},
      {std::string(1500, '('), "levels"},
      {std::string(1500, '-') + "1", "levels"}};
  for (const auto& [text, part] : cases)
    EXPECT_NE(error(text).find(part), std::string::npos) << text << ": " << error(text);
}

TEST(Condition, SpeaksOfTheTilesThatHaveItsAxes) {
  const Condition condition("block_v <= chunk and chunk % 16 == 0");
  EXPECT_EQ(condition.names(), (std::set<std::string>{"block_v", "chunk"}));
  EXPECT_TRUE(condition.holds({{"block_v", 32}, {"chunk", 32}}));
  EXPECT_FALSE(condition.holds({{"block_v", 64}, {"chunk", 32}}));
  EXPECT_TRUE(condition.holds({{"block_v", 64}}));
}

TEST(Condition, WhatCanNotBeWorkedOutDoesNotHold) {
  EXPECT_FALSE(Condition("64 // stages > 0").holds({{"stages", 0}}));
  EXPECT_FALSE(Condition("[stages]").holds({{"stages", 1}}));
}

}  // namespace
}  // namespace gla_bench
