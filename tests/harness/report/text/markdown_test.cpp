// The report in markdown: the content of the page, in its order.

#include <gtest/gtest.h>

#include "harness/judge/comparison.hpp"
#include "harness/report/text/comparison.hpp"
#include "harness/report/text/report.hpp"
#include "harness/report/text/section_parts.hpp"
#include "harness/report/text/sections.hpp"
#include "harness/report/text/verified.hpp"
#include "tests/support/timed_record.hpp"

namespace gla_bench {
namespace {

using toy::results_of;
using toy::timed;

std::string markdown_of(const std::vector<Results>& files) {
  return report(files, {.markdown = true});
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Record of_length(const std::string& variant, double ms, std::int64_t seq) {
  Record record = timed(variant, ms);
  record.problem.shape.seq = seq;
  return record;
}

TEST(MarkdownReport, HasThePagesSectionsInItsOrder) {
  const std::vector<Results> files{results_of({timed("a", 1)})}, base = files;
  const auto comparison = compare_runs(base, files);
  const std::string text = report(files, {.markdown = true}, &*comparison);
  std::size_t at = 0;
  for (const char* title :
       {"# gla-bench report", "## Machine", "## Verified", "## Winners", "## Why", "## Costs",
        "## Peers and floor", "## Records", "## Comparison"}) {
    const std::size_t found = text.find(std::string(title) + "\n");
    ASSERT_NE(found, std::string::npos) << title << "\n" << text;
    EXPECT_GE(found, at) << title;
    at = found;
  }
  EXPECT_FALSE(has(markdown_of(files), "## Comparison"));
}

TEST(MarkdownReport, CountsWhatIsRightAndShowsEveryFailureFirst) {
  EXPECT_TRUE(has(markdown_of({results_of({timed("a", 1), timed("b", 1)})}),
                  "**All 2 candidates verified against float64**"));
  Record wrong = timed("bad_one", 1), refused = timed("picky", 1), peer = timed("theirs", 1);
  wrong.status = Status::wrong;
  wrong.verification->ok = false;
  wrong.reason = "o: too far";
  refused.status = Status::rejected;
  peer.peer = true;
  const std::string text = markdown_of({results_of({timed("a", 1), wrong, refused, peer})});
  EXPECT_TRUE(
      has(text,
          "**1 failure among 2 candidates \u00b7 1 verified against float64 \u00b7 1 refused "
          "with a reason \u00b7 1 record of peers**"))
      << text;
  EXPECT_LT(text.find("o: too far"), text.find("## Winners"));
  EXPECT_LT(text.find("`gla-bench repeat '{\"variant\":\"bad_one\""), text.find("## Winners"));
}

TEST(MarkdownReport, CountsUnjudgedSuspectAndThrottled) {
  Record built = timed("a", 1), suspect = timed("b", 1), slow = timed("c", 1), hung = timed("d", 1);
  built.status = Status::built;
  built.verification.reset();
  suspect.timing->suspect = true;
  slow.timing->throttled = true;
  hung.status = Status::timeout;
  hung.peer = true;
  const std::vector<Results> files{results_of({built, suspect, slow, hung})};
  EXPECT_EQ(
      describe(count_verified(files)),
      "2 of 3 candidates verified \u00b7 1 built or run without a verdict \u00b7 1 suspect "
      "time \u00b7 1 timed while throttled \u00b7 1 record of peers \u00b7 1 of those failed");
  EXPECT_EQ(describe(VerifiedCounts{}), "Nothing was tried");
}

TEST(MarkdownReport, TellsWinnersTheirFactorAndTies) {
  const std::vector<Results> files{
      results_of({of_length("a", 1, 64), of_length("b", 2, 64), of_length("a", 1, 128),
                  of_length("b", 1.005, 128), of_length("b", 3, 256)})};
  const std::string text = winners_section(contests_of(files));
  EXPECT_TRUE(has(text, "| 3 | 2 a, 1 b | 1.50x | 1 |")) << text;
  EXPECT_TRUE(has(text, "| b 2.00x (")) << text;
  EXPECT_TRUE(has(text, "| = b |")) << text;
}

TEST(MarkdownReport, ShowsWhereTheWinnerChangesInMapsOfSeveralPlaces) {
  const std::vector<Results> one{results_of({of_length("a", 1, 64)})};
  EXPECT_EQ(maps_part(one), "");
  const std::vector<Results> two{
      results_of({of_length("a", 1, 64), of_length("b", 2, 64), of_length("b", 1, 4096)})};
  const std::string text = maps_part(two);
  EXPECT_TRUE(has(text, "<summary>Where the winner changes: 1 cross-over map</summary>")) << text;
  EXPECT_TRUE(has(text, "| a (b 2.00x) | b |")) << text;
  EXPECT_TRUE(has(markdown_of(two), text));
}

TEST(MarkdownReport, SaysWhatHoldsTheWinnersUp) {
  std::vector<Results> files{results_of({timed("a", 0.25)})};
  files[0].environment["matrix_tflop_per_s"] = 240.0;
  const std::string text = why_section(contests_of(files));
  EXPECT_TRUE(has(text, "| 1 memory |")) << text;
  EXPECT_TRUE(has(text, "| memory | 80 % of the copy rate (modelled bytes), 10 % of"));
  EXPECT_TRUE(has(text, "| 2.00 modelled | 24.0 |"));
}

TEST(MarkdownReport, HasCostsPeersAndTheFloor) {
  Record mine = timed("a", 0.5), peer = timed("theirs", 1);
  mine.io.workspace_bytes = 2e6;
  mine.energy = Energy{0.0123, 500, 0.3, 10, ""};
  peer.peer = true;
  const std::vector<Results> files{results_of({mine, peer})};
  const auto contests = contests_of(files);
  EXPECT_TRUE(has(costs_section(contests), "| 0.5000 | 2.00 modelled | 2 MB | 10 % | 12.3 mJ |"))
      << costs_section(contests);
  EXPECT_TRUE(
      has(peers_section(contests), "| a | 0.5000 | 0.1000 | 20 % | theirs | 1.000 | 2.00x |"))
      << peers_section(contests);
}

TEST(MarkdownReport, FoldsLongTables) {
  std::vector<Record> records;
  for (int i = 0; i < 20; ++i) records.push_back(of_length("a", 1, 64 + i));
  const std::vector<Results> many{results_of(records)}, few{results_of({timed("a", 1)})};
  EXPECT_TRUE(has(winners_section(contests_of(many)), "<details><summary>toy forward"));
  EXPECT_FALSE(has(winners_section(contests_of(few)), "<details>"));
}

TEST(MarkdownReport, WhatAllProblemsOfAGroupHaveStandsAboveThem) {
  Record strong = of_length("a", 1, 64);
  strong.problem.gate = "strong";
  const std::vector<Results> files{results_of({of_length("a", 1, 32), strong})};
  const auto contests = contests_of(files);
  const auto groups = groups_of(contests);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_TRUE(has(groups[0].shared, "seed="));
  EXPECT_FALSE(has(groups[0].shared, "gate=")) << "the two differ in it";
  EXPECT_FALSE(has(groups[0].shared, "B=")) << "extents stay with their problem";
  EXPECT_TRUE(has(groups[0].problems[1], "B=1 T=64")) << groups[0].problems[1];
  EXPECT_TRUE(has(groups[0].problems[1], "gate=strong")) << groups[0].problems[1];
}

TEST(MarkdownReport, TextsOfRecordsAreNoMarkup) {
  Record wrong = timed("a*b*", 1);
  wrong.status = Status::crashed;
  wrong.reason =
      "</details><script>alert(1)</script><img src=x>\n# title | @somebody \033[31m [a](b)";
  const std::string text = markdown_of({results_of({wrong}, "a|b<i>.json")});
  for (const char* markup :
       {"<script>", "</details><", "<img", "<i>", "\n# title", "@somebody", "[a](b)", "\033"})
    EXPECT_FALSE(has(text, markup)) << markup << "\n" << text;
  EXPECT_TRUE(has(text, "&lt;script&gt;"));
  EXPECT_TRUE(has(text, "crashed a\\*b\\* ")) << text;
  EXPECT_FALSE(has(costs_section(contests_of(std::vector{results_of({wrong})})), "|"))
      << "no table without lines";
}

TEST(MarkdownReport, OfNothingSaysSo) {
  EXPECT_TRUE(has(markdown_of({results_of({})}), "Nothing was tried"));
  EXPECT_TRUE(has(markdown_of({results_of({})}), "No records."));
}

}  // namespace
}  // namespace gla_bench
