#include "harness/workers/hand_out/hand_out.hpp"

#include <gtest/gtest.h>

#include "tests/support/sample_record.hpp"

namespace gla_bench {
namespace {

using Numbers = std::vector<std::int64_t>;
using Answers = std::vector<HandOut::Answer>;

HandOutHello hello(const Numbers& begun = {}) {
  return {"plan", {3, 1, 2, 5, 4}, begun};
}

TEST(HandOut, GivesTheLongestFirstToWhoeverAsks) {
  HandOut out(2);
  out.hello(0, hello());
  out.hello(1, hello());
  out.ask(1);
  out.ask(0);
  EXPECT_EQ(out.answers(), (Answers{{1, {3}}, {0, {1}}}));
  EXPECT_EQ(out.answers(), Answers{});
  for (int i = 0; i < 4; ++i) out.ask(0);
  EXPECT_EQ(out.answers(), (Answers{{0, {2}}, {0, {5}}, {0, {4}}, {0, {}}}));
  out.ask(1);
  EXPECT_EQ(out.answers(), (Answers{{1, {}}}));
}

TEST(HandOut, WhatARunHasBegunIsItsOwn) {
  HandOut out(2);
  out.hello(0, hello({1, 5}));
  out.ask(0);
  EXPECT_EQ(out.answers(), Answers{}) << "the other may have begun what would be handed out";
  out.hello(1, hello({3}));
  out.ask(1);
  EXPECT_EQ(out.answers(), (Answers{{0, {2}}, {1, {4}}}));
}

TEST(HandOut, RunsOfDifferentPlansAreNamed) {
  const auto after = [](const HandOutHello& second) {
    HandOut out(3);
    out.hello(0, hello({1}));
    return error_of([&] { out.hello(2, second); });
  };
  EXPECT_EQ(after(hello({2})), "no error");
  const std::string other =
      "rank 2 and rank 0: have different problems to run, expected the same program, config and "
      "kind of device";
  EXPECT_EQ(after({"another", {3, 1, 2, 5, 4}, {}}), other);
  EXPECT_EQ(after({"plan", {1, 3, 2, 5, 4}, {}}), other);
  EXPECT_EQ(after(hello({4, 1})), "rank 2 and rank 0: both have rows of problem 1");
}

TEST(HandOut, ARunThatEndsBeforeItsHelloEndsAll) {
  HandOut out(2);
  out.hello(0, hello());
  EXPECT_EQ(error_of([&] { out.gone(0); }), "no error");
  EXPECT_EQ(error_of([&] { out.gone(1); }),
            "rank 1: its gla-bench ended before it said which problems its file has");
}

TEST(HandOut, LinesAreReadAsTheyAreWritten) {
  EXPECT_EQ(read_run_line(hello_line(hello({2}))), hello({2}));
  EXPECT_EQ(read_run_line(ask_line()), std::nullopt);
  EXPECT_EQ(read_problems_line(problems_line({7, 1})), (Numbers{7, 1}));
  EXPECT_EQ(read_problems_line(problems_line({})), Numbers{});
  for (const char* line : {"", "[]", R"({"problems": [0]})", R"({"problems": [1], "x": 1})"})
    EXPECT_NE(error_of([&] { read_problems_line(line); }), "no error") << line;
  for (const char* line : {"{}", R"({"plan": 1, "order": [], "begun": []})"})
    EXPECT_NE(error_of([&] { read_run_line(line); }), "no error") << line;
}

}  // namespace
}  // namespace gla_bench
