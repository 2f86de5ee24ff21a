#include "harness/report/text/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "harness/support/progress.hpp"
#include "harness/support/table.hpp"
#include "tests/support/timed_record.hpp"

namespace gla_bench {
namespace {

using toy::timed;

Results file(std::vector<Record> records) {
  return toy::results_of(std::move(records));
}

std::string text_of(std::vector<Results> files, bool markdown = false) {
  return report(files, {markdown, 0});
}

/// The line of the text that starts with a word.
std::string line_of(const std::string& text, const std::string& start) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(start)) return line;
  return "";
}

TEST(Report, ShowsTheStagesOfRecordsThatHaveThem) {
  Record layered = timed("composed", 0.4);
  layered.stages = {{"projections", 0.1, 2e5, 1e5}, {"gla", 0.3, 3e5, 3e5}};
  const std::string text = text_of({file({layered, timed("plain", 0.2)})});
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    if (line.find("projections") != std::string::npos || line.find(" gla ") != std::string::npos)
      lines.push_back(line);
  ASSERT_EQ(lines.size(), 2u) << text;
  // 3e5 bytes in 0.1 ms: 3 GB/s; a quarter of the 0.4 ms.
  for (const char* part : {"composed", "chunk=16", "projections", "0.1000", "25 %", "3.00"})
    EXPECT_NE(lines[0].find(part), std::string::npos) << part << " in: " << lines[0];
  for (const char* part : {"0.3000", "75 %", "2.00"})
    EXPECT_NE(lines[1].find(part), std::string::npos) << part << " in: " << lines[1];
  EXPECT_EQ(text_of({file({timed("plain", 0.2)})}).find("stage"), std::string::npos);
}

TEST(Report, ARateThatIsNotKnownIsADash) {
  Record peer = timed("theirs", 0.2);
  peer.peer = true;
  peer.flops = 0;
  Record slow = timed("slow", 30);  // 6e9 operations: 0.2 T/s
  for (const bool markdown : {false, true}) {
    const std::string text = text_of({file({peer, slow})}, markdown);
    EXPECT_EQ(text.find(" 0.00 "), std::string::npos) << text;
    EXPECT_NE(text.find(" 0.200 "), std::string::npos) << text;
  }
}

TEST(Report, TellsTimeBandwidthShareTrafficAndError) {
  const std::string text = text_of({file({timed("fast", 0.2)})});
  // 1e6 bytes in 0.2 ms: 5 GB/s; at 10 GB/s they take 0.1 ms, half of it. 6e9 operations: 30 T/s.
  const std::string line = line_of(text, "fast");
  for (const char* part :
       {"chunk=16", "0.2000", "5.00", "30.0", "50 %", "2.00", "o 1.0e-4 (10 %)", "winner"})
    EXPECT_NE(line.find(part), std::string::npos) << part << " in: " << line;
  EXPECT_NE(text.find("copy rate of 10.0 GB/s"), std::string::npos) << text;
}

TEST(Report, ShowsEachVariantsBestTileAndOneWinner) {
  const std::string text =
      text_of({file({timed("fast", 0.2, 16), timed("fast", 0.1, 32), timed("slow", 0.4)})});
  EXPECT_NE(line_of(text, "fast").find("chunk=32"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "fast").find("winner"), std::string::npos);
  EXPECT_EQ(line_of(text, "slow").find("winner"), std::string::npos);
  EXPECT_LT(text.find("\nfast"), text.find("\nslow"));
}

TEST(Report, TilesThatRoundToTf32AreListedApart) {
  Record rounded = timed("chunk", 0.1, 16);
  rounded.verification->arithmetic = Arithmetic::tf32;
  const std::vector<Results> files{file({rounded, timed("chunk", 0.2, 32)})};
  const std::string text = text_of(files);
  EXPECT_NE(line_of(text, "chunk (tf32)").find("chunk=16"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "chunk  ").find("chunk=32"), std::string::npos) << text;
  EXPECT_NE(text_of(files, true).find("chunk (tf32)"), std::string::npos);
}

TEST(Report, WrongSuspectAndPeersDoNotWin) {
  Record wrong = timed("wrong_one", 0.01);
  wrong.status = Status::wrong;
  wrong.verification->ok = false;
  wrong.reason = "o: too far";
  Record suspect = timed("suspect_one", 0.02);
  suspect.timing->suspect = true;
  Record peer = timed("peer_one", 0.03);
  peer.peer = true;
  const std::string text = text_of({file({wrong, suspect, peer, timed("slow", 0.4)})});
  EXPECT_NE(line_of(text, "slow").find("winner"), std::string::npos) << text;
  EXPECT_EQ(line_of(text, "suspect_one").find("winner"), std::string::npos);
  EXPECT_NE(line_of(text, "suspect_one").find("suspect"), std::string::npos);
  EXPECT_NE(line_of(text, "peer_one").find("peer"), std::string::npos);
  EXPECT_EQ(line_of(text, "peer_one").find("winner"), std::string::npos);
  EXPECT_NE(text.find("Failures"), std::string::npos);
  EXPECT_LT(text.find("o: too far"), text.find("slow"));
}

// It was verified, and then hung or crashed while it was timed.
TEST(Report, CrashedAndTimedOutRowsAreFailuresAndComeLast) {
  Record hung = timed("hung_one", 0.01), crashed = timed("crashed_one", 0.02);
  hung.timing.reset();
  hung.status = Status::timeout;
  hung.reason = "measure: over its limit of 10 s";
  crashed.status = Status::crashed;
  crashed.reason = "signal 11 (Segmentation fault)";
  const std::string text = text_of({file({hung, crashed, timed("slow", 0.4)})});
  EXPECT_NE(line_of(text, "slow").find("winner"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "hung_one").find("timeout"), std::string::npos) << text;
  EXPECT_NE(line_of(text, "crashed_one").find("crashed"), std::string::npos) << text;
  EXPECT_LT(text.find("\nslow"), text.find("\nhung_one"));
  EXPECT_LT(text.find("\nslow"), text.find("\ncrashed_one"));
  EXPECT_LT(text.find("signal 11"), text.find("\nslow")) << "failures come first";
  EXPECT_LT(text.find("over its limit"), text.find("\nslow"));
}

TEST(Report, TellsOfAJournalBesideTheFile) {
  Results results = file({timed("fast", 1)});
  EXPECT_EQ(text_of({results}).find("journal"), std::string::npos);
  results.unfinished = Unfinished{"r.json.journal", true, 2, {}, ""};
  EXPECT_NE(text_of({results}).find("a run is writing to it right now"), std::string::npos);
  results.unfinished->fault = "r.json.journal line 3: /record: found 1";
  EXPECT_NE(text_of({results}).find("found 1; it is left out"), std::string::npos);
}

TEST(Report, NaNErrorsShow) {
  Record record = timed("fast", 1);
  record.verification->tensors["o"].rel_l2 = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(line_of(text_of({file({record})}), "fast").find("o nan"), std::string::npos);
}

TEST(Report, RefusedVariantsAreNamedWithTheirReason) {
  Record refused = timed("picky", 1);
  refused.status = Status::rejected;
  refused.reason = "gates too strong";
  refused.timing.reset();
  const std::string text = text_of({file({timed("fast", 1), refused})});
  EXPECT_NE(text.find("refused: picky: gates too strong"), std::string::npos) << text;
}

TEST(Report, ColoursTheWinnerAndWhatFailed) {
  Record wrong = timed("wrong_one", 0.01);
  wrong.status = Status::wrong;
  wrong.reason = "far\033[0m off";
  const std::vector<Results> files{file({timed("fast", 0.2), wrong})};
  EXPECT_EQ(report(files, {}).find('\033'), std::string::npos);
  const std::string text = report(files, {.colour = true});
  EXPECT_NE(text.find("\033[32mfast"), std::string::npos) << text;
  EXPECT_NE(text.find("\033[31mwrong_one"), std::string::npos) << text;
  EXPECT_NE(text.find("far?[0m off"), std::string::npos) << text;
}

TEST(Report, SaysFirstHowManyAreRight) {
  const std::string text = text_of({file({timed("fast", 0.2)})});
  EXPECT_LT(text.find("The candidate is verified against float64"), text.find("\nfast")) << text;
}

TEST(Report, MergesFilesOfOneDevice) {
  Record peer = timed("theirs", 0.5);
  peer.peer = true;
  Results theirs = file({peer});
  theirs.environment.erase("copy_gb_per_s");
  const std::string text = text_of({file({timed("fast", 0.2)}), theirs});
  EXPECT_NE(line_of(text, "theirs").find("20 %"), std::string::npos) << text;
  Results elsewhere = theirs;
  elsewhere.environment["device"] = std::string("other");
  const std::string apart = text_of({file({timed("fast", 0.2)}), elsewhere});
  EXPECT_EQ(line_of(apart, "theirs").find(" %  "), std::string::npos) << apart;
}

TEST(Report, WithoutRecordsItSaysSo) {
  EXPECT_NE(text_of({file({})}).find("no records"), std::string::npos);
}

TEST(Report, MarkdownIsATable) {
  const std::string text = text_of({file({timed("fast", 0.2)})}, true);
  EXPECT_NE(text.find("| variant | best tile | ms |"), std::string::npos) << text;
  EXPECT_NE(text.find("| --- | --- | ---: |"), std::string::npos);
  EXPECT_NE(text.find("| fast | chunk=16 | 0.2000 |"), std::string::npos);
}

TEST(Markdown, CodeHasAFenceThatItsTextLacks) {
  EXPECT_EQ(markdown_code("run it"), "`run it`");
  EXPECT_EQ(markdown_code("a `b` ``c"), "``` a `b` ``c ```");
}

TEST(Progress, LineTellsDoneAndLeft) {
  EXPECT_EQ(progress_line(200, 0, 4, std::nullopt, "x"), "[--------------------] 0/4  x");
  EXPECT_EQ(progress_line(200, 1, 4, 30, "x"), "[#####---------------] 1/4  30s left  x");
  EXPECT_EQ(progress_line(200, 4, 4, 10, "x"), "[####################] 4/4  x");
  EXPECT_EQ(progress_line(30, 1, 4, 10, std::string(99, 'y')).size(), 30u);
  EXPECT_EQ(format_duration(59.4), "59s");
  EXPECT_EQ(format_duration(65), "1m05s");
  EXPECT_EQ(format_duration(7380), "2h03m");
}

TEST(Progress, PlainLinesComeAtMostEverySoOften) {
  std::ostringstream out;
  double time = 0;
  {
    Progress progress(out, 100, {false, 80, 5, [&] { return time; }});
    for (int i = 0; i < 100; ++i) {
      progress.at("step " + std::to_string(i));
      time += 0.1;
      progress.advance();
    }
    progress.message("a line that stays");
  }
  const std::string text = out.str();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_GE(lines, 2);
  EXPECT_LE(lines, 4) << text;
  EXPECT_NE(text.find("a line that stays\n"), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Progress, ATerminalKeepsOneLine) {
  std::ostringstream out;
  {
    Progress progress(out, 2, {true, 60, 5, [] { return 0.0; }});
    progress.at("first");
    progress.advance();
    progress.at("second");
  }
  const std::string text = out.str();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\033[K")) << "the bar is taken away";
}

}  // namespace
}  // namespace gla_bench
