// The data and the page of report --html.

#include "harness/report/page/page.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/extents.hpp"
#include "harness/records/selection.hpp"
#include "harness/report/page/packed.hpp"
#include "harness/support/json.hpp"
#include "harness/support/numbers.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/sample_record.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

/// What packed() made of a text: out of base64 again, and inflated by zlib.
std::string unpacked(const std::string& text) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    group = group << 6 | static_cast<unsigned>(alphabet.find(c));
    if ((bits += 6) < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 255);
  }
  std::string back(1 << 22, '\0');
  uLongf size = back.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(back.data()), &size,
                       reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  back.resize(size);
  return back;
}

TEST(PagePacked, ComesBackWhateverItsLength) {
  std::string text = "\xff<&>\0";
  for (int length = 0; length < 7; ++length, text += "x")
    EXPECT_EQ(unpacked(packed(text)), text) << length;
  EXPECT_LT(packed(std::string(100000, 'a')).size(), 1000u);
}

TEST(PageColumns, NumbersKeepTheirDigits) {
  EXPECT_EQ(round_to(0.0673281, 5), 0.067328);
  EXPECT_EQ(round_to(679477248, 5), 679480000);
  EXPECT_EQ(round_to(-0.00025, 3), -0.00025);
  EXPECT_EQ(round_to(0, 5), 0);
  EXPECT_TRUE(std::isnan(round_to(std::numeric_limits<double>::quiet_NaN(), 5)));
  EXPECT_EQ(round_to(-std::numeric_limits<double>::infinity(), 5),
            -std::numeric_limits<double>::infinity());
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(round_to(least, 5), least);
}

TEST(PageColumns, AShorterNumberRoundsAsTheWholeOneDoes) {
  EXPECT_EQ(shorten_to(0.067328123, 6), 0.0673281);
  EXPECT_EQ(shorten_to(0.0673281, 6), 0.0673281);
  EXPECT_EQ(shorten_to(679477248, 5), 679470000);
  // Just below and just above a half, and at it.
  EXPECT_EQ(shorten_to(0.002849996789494436, 6), 0.00284999);
  EXPECT_EQ(shorten_to(-0.00284999999999, 6), -0.00284999);
  EXPECT_EQ(shorten_to(0.00285000000001, 6), 0.00285001);
  EXPECT_EQ(shorten_to(2850000001., 4), 2851000000.);
  EXPECT_EQ(shorten_to(0.00285, 6), 0.00285);
  EXPECT_EQ(shorten_to(1.7e-7, 1), 1e-7);
  for (int i = 1; i < 20000; ++i) {
    const double value = std::sin(i) * std::pow(10., i % 40 - 20);
    for (const int shown : {1, 2, 3, 4})
      ASSERT_EQ(round_to(shorten_to(value, 6), shown), round_to(value, shown)) << value;
  }
  EXPECT_EQ(shorten_to(0, 6), 0);
  EXPECT_TRUE(std::isnan(shorten_to(std::numeric_limits<double>::quiet_NaN(), 6)));
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(shorten_to(-least, 6), -least);
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
  EXPECT_EQ(data["columns"]["problem"]["texts"].size(), 2U) << "they differ in their seeds";
  EXPECT_EQ(data["columns"]["problem"]["at"], Json({0, 0, 1}));
  EXPECT_EQ(data["columns"]["cold_ms"], Json({1.25, nullptr, 1.25}));
  EXPECT_EQ(data["columns"]["right"], Json({true, nullptr, true}));
  EXPECT_EQ(data["tensors"]["o/error"], Json({1e-4, nullptr, 1e-4}));
  EXPECT_TRUE(data["stages"].contains("2"));
  EXPECT_FALSE(data["stages"].contains("3"));
  EXPECT_TRUE(data["comparison"].is_null());
}

TEST(PageData, NamesEveryExtent) {
  const Json data = page_data({});
  ASSERT_EQ(data["extents"].size(), extent_axes.size());
  for (std::size_t i = 0; i < extent_axes.size(); ++i)
    EXPECT_EQ(data["extents"][i], Json({{"name", extent_axes[i].name},
                                        {"symbol", extent_axes[i].symbol},
                                        {"role", name(extent_axes[i].role)}}));
}

TEST(PageData, ProblemIsTheTextOfTheCommand) {
  const Record record = sample_record(7);
  const Results files[] = {results_of({record})};
  const std::string text = page_data({files})["columns"]["problem"]["texts"][0];
  const std::string selection = selection_text(selection_of(record));
  EXPECT_TRUE(selection.ends_with("," + text.substr(1))) << text << "\n" << selection;
}

TEST(PageData, NothingEndsTheElementThatHoldsIt) {
  Record hostile = sample_record(1);
  hostile.variant = "</script><script>alert(1)</script>";
  hostile.reason = "<!--<script>&amp; \xff";
  const Results files[] = {results_of({hostile})};
  const std::string text = packed(page_text({files}));
  EXPECT_EQ(
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
      std::string::npos);
  const Json back = Json::parse(unpacked(text));
  EXPECT_EQ(back["columns"]["variant"]["texts"][0], "</script><script>alert(1)</script>");
  EXPECT_EQ(back["columns"]["reason"]["texts"][0], "<!--<script>&amp; \xef\xbf\xbd");
}

TEST(PageData, OfNoFilesIsStillWhole) {
  const Json data = page_data({});
  EXPECT_EQ(data["count"], 0);
  EXPECT_EQ(data["columns"]["problem"], Json::array());
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
  EXPECT_EQ(program("report " + records + " --html /dev/null/page.html").code, 5);
}

}  // namespace
}  // namespace gla_bench
