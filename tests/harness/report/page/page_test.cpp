// The data and the page of report --html.

#include "harness/report/page/page.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/page/columns.hpp"
#include "harness/support/json.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/sample_record.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

TEST(PageColumns, NumbersAreShortAndReadBackToTheirDigits) {
  EXPECT_EQ(short_number(0.0673281, 5), ".067328");
  EXPECT_EQ(short_number(679477248, 5), "67948e4");
  EXPECT_EQ(short_number(679477248, 9), "679477248");
  EXPECT_EQ(short_number(4000000, 7), "4e6");
  EXPECT_EQ(short_number(1.5, 5), "1.5");
  EXPECT_EQ(short_number(-0.00025, 3), "-25e-5");
  EXPECT_EQ(short_number(0, 5), "0");
  EXPECT_EQ(short_number(100, 5), "100");
  EXPECT_EQ(short_number(std::numeric_limits<double>::quiet_NaN(), 5), "nan");
  EXPECT_EQ(short_number(-std::numeric_limits<double>::infinity(), 5), "-inf");
  for (double value = 1.23456789e-12; value < 1e15; value *= 7.3) {
    const double back = std::stod(short_number(value, 5));
    EXPECT_TRUE(std::abs(back - value) <= 0.5e-4 * value) << value << " " << back;
  }
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(std::strtod(short_number(least, 5).c_str(), nullptr), least);
}

TEST(PageColumns, RunsOfTheSameAreOneCell) {
  EXPECT_EQ(packed_cells({"1", "1", "", "2"}), "1*2,,2");
  EXPECT_EQ(packed_cells({"", "", ""}), "*3");
  EXPECT_EQ(packed_cells({}), "");
  TextColumn texts;
  for (const char* text : {"b", "a", "b", "b"}) texts.add(text);
  EXPECT_EQ(texts.packed(),
            Json::parse(R"({"patterns": ["b", "a"], "of": "0,1", "at": "0,1,0*2"})"));
}

TEST(PageColumns, TextsThatDifferInNumbersShareAPattern) {
  TextColumn texts;
  for (const char* text : {"a=64 b=8", "a=007 b=9", "#1", "2.5 #"}) texts.add(text);
  EXPECT_EQ(texts.packed(), Json::parse(R"({"patterns": ["a=# b=#", "##", "#.# #"],
                                            "of": "0 64 8,0 007 9,1 # 1,2 2 5 #",
                                            "at": "0,1,2,3"})"));
}

Results results_of(std::vector<Record> records) {
  Results results;
  results.file = "r.json";
  results.environment["device"] = std::string("toy");
  results.environment["copy_gb_per_s"] = 10.0;
  results.records = std::move(records);
  return results;
}

TEST(PageData, HasEachProblemOnceAndACellForEachRecord) {
  Record refused = sample_record(1);
  refused.status = Status::rejected;
  refused.timing.reset();
  refused.verification.reset();
  const Results files[] = {results_of({sample_record(1), refused}), results_of({sample_record(2)})};
  const Json data = page_data({files});
  EXPECT_EQ(data["count"], 3);
  EXPECT_EQ(data["files"].size(), 2U);
  EXPECT_EQ(data["files"][1]["count"], 1);
  EXPECT_EQ(data["columns"]["problem"]["patterns"].size(), 1U) << "they differ in their seeds";
  EXPECT_EQ(data["columns"]["problem"]["at"], "0*2,1");
  EXPECT_EQ(data["columns"]["cold_ms"], "1.25,,1.25");
  EXPECT_EQ(data["columns"]["right"], "1,,1");
  EXPECT_EQ(data["tensors"]["o/error"], "1e-4,,1e-4");
  EXPECT_TRUE(data["stages"].contains("2"));
  EXPECT_FALSE(data["stages"].contains("3"));
  EXPECT_TRUE(data["comparison"].is_null());
}

TEST(PageData, ProblemIsTheTextOfTheCommand) {
  const Record record = sample_record(7);
  const Results files[] = {results_of({record})};
  const Json problems = page_data({files})["columns"]["problem"];
  std::string text, numbers = problems["of"];
  for (const char c : problems["patterns"][0].get<std::string>()) {
    if (c != '#') {
      text += c;
      continue;
    }
    numbers = numbers.substr(numbers.find(' ') + 1);
    text += numbers.substr(0, numbers.find(' '));
  }
  const std::string selection = selection_text(selection_of(record));
  EXPECT_TRUE(selection.ends_with("," + text.substr(1))) << text << "\n" << selection;
}

TEST(PageData, NothingEndsTheElementThatHoldsIt) {
  Record hostile = sample_record(1);
  hostile.variant = "</script><script>alert(1)</script>";
  hostile.reason = "<!--<script>&amp; \xff";
  const Results files[] = {results_of({hostile})};
  const std::string text = json_for_script(page_data({files}));
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  const Json back = Json::parse(text);
  EXPECT_EQ(back["columns"]["variant"]["patterns"][0], "</script><script>alert(#)</script>");
  EXPECT_EQ(back["columns"]["reason"]["patterns"][0], "<!--<script>&amp; \xef\xbf\xbd");
}

TEST(PageData, OfNoFilesIsStillWhole) {
  const Json data = page_data({});
  EXPECT_EQ(data["count"], 0);
  EXPECT_EQ(data["columns"]["problem"]["at"], "");
}

TEST(PageData, RowsKeepTheirNumbersWhereOthersWereLeftOut) {
  Results results = results_of({sample_record(1), sample_record(2)});
  results.places = {3, 8};
  const Results files[] = {results};
  EXPECT_EQ(page_data({files})["files"][0]["places"], Json({3, 8}));
}

class PageFile : public testing::Test {
 protected:
  void SetUp() override {
    if (embedded_page().before.empty()) GTEST_SKIP() << "built without the page";
  }
};

TEST_F(PageFile, HasAPolicyThatNamesItsScriptAndLoadsNothing) {
  const Results files[] = {results_of({sample_record(1)})};
  const std::string page = page_html({files});
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(page.find("unsafe"), std::string::npos);
  for (const char* place : {"@data@", "@js@", "@css@", "digest@"})
    EXPECT_EQ(page.find(place), std::string::npos) << place;
  for (const char* loads : {" src=", "<link", "@import", "url(h"})
    EXPECT_EQ(page.find(loads), std::string::npos) << loads;
  EXPECT_EQ(page.find("<script"), page.find("<script id=\"data\""));
}

TEST_F(PageFile, IsAFewHundredKilobytes) {
  EXPECT_LT(page_html({}).size(), 400'000U);
}

TEST_F(PageFile, ReportWritesItAndRefusesWhatDoesNotGoWithIt) {
  TemporaryFolder folder;
  const std::string records = std::string(places::source_dir) + "/results/h200/gla_layer.json";
  const std::string out = folder.file("page.html");
  EXPECT_EQ(program("report " + records + " --html " + out).code, 0);
  EXPECT_TRUE(read_text_file(out).starts_with("<!doctype html>"));
  const std::string rows = folder.file("rows.csv");
  EXPECT_EQ(program("report " + records + " --html " + out + " --csv " + rows).code, 0);
  EXPECT_TRUE(read_text_file(rows).starts_with("file,row,"));
  EXPECT_EQ(program("report " + records + " --map --html " + out).code, 2);
  EXPECT_EQ(program("report /nowhere.json --html " + out).code, 2);
  EXPECT_EQ(program("report " + records + " --html /nowhere/page.html").code, 5);
}

}  // namespace
}  // namespace gla_bench
