// Terminal, markdown, maps, rows, page and tuned table name the same winner and the same ties, of
// records on which rules of their own would differ.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/report/maps/crossover.hpp"
#include "harness/report/page/data.hpp"
#include "harness/report/text/best.hpp"
#include "harness/report/text/report.hpp"
#include "harness/report/text/rows.hpp"
#include "harness/support/text.hpp"
#include "harness/tuned_table/rank.hpp"
#include "tests/harness/tuned_table/records.hpp"

namespace gla_bench {
namespace {

constexpr const char* device_name = "NVIDIA H200";

Record candidate(const std::string& variant, double ms, double noise = 0.001, int chunk = 64) {
  return timed_record(problem_at(4096), variant, {{"chunk", chunk}}, ms, 1e-3, noise);
}

std::vector<Results> planted() {
  // A search gave up on it after few samples, whose median is low by chance.
  Record early = candidate("early", 0.9);
  early.search = SearchNote{"halving", "slower", 2};
  // Right before it was timed, and wrong after.
  Record changed = candidate("changed", 0.8);
  changed.verification->last_timed_ok = false;
  // Its fastest tile cannot be believed, another one can.
  Record suspect = candidate("partly_suspect", 0.5, 0.001, 32);
  suspect.timing->suspect = true;
  Record peer = candidate("theirs", 0.7);
  peer.peer = true;
  Results results;
  results.file = "r.json";
  results.environment["device"] = std::string(device_name);
  results.environment["copy_gb_per_s"] = 4000.0;
  results.records = {early,
                     changed,
                     suspect,
                     peer,
                     candidate("steady", 1),
                     candidate("partly_suspect", 1.003),
                     candidate("apart", 1.018),       // its own interval would meet the winner's
                     candidate("noisy", 1.03, 0.1)};  // a tie behind one that is none
  for (Record& record : results.records) record.source_hash.clear();  // not known
  return {results};
}

struct Verdict {
  std::set<std::string> winners, ties;
  bool operator==(const Verdict&) const = default;
};

void PrintTo(const Verdict& verdict, std::ostream* out) {
  for (const std::string& name : verdict.winners) *out << name << " ";
  *out << "=";
  for (const std::string& name : verdict.ties) *out << " " << name;
}

const Verdict expected{{"steady"}, {"partly_suspect", "noisy"}};

/// By the notes behind the rows of a report.
Verdict of_text(const std::string& text) {
  Verdict verdict;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string variant;
    words >> variant;
    if (variant == "|") words >> variant;
    for (std::string word; words >> word;) {
      if (word.ends_with(',')) word.pop_back();  // other notes may follow
      if (word == "winner")
        verdict.winners.insert(variant);
      else if (word == "tied")
        verdict.ties.insert(variant);
    }
  }
  return verdict;
}

TEST(SameWinner, InTheTerminalAndInMarkdown) {
  EXPECT_EQ(of_text(report(planted(), {})), expected) << report(planted(), {});
  EXPECT_EQ(of_text(report(planted(), {.markdown = true})), expected);
  const std::vector<Results> files = planted();
  const auto row = best_tables(files).at(0).table.rows.at(0);
  EXPECT_EQ(row.at(1), "steady");
  EXPECT_TRUE(std::find(row.begin(), row.end(), "= partly_suspect 1.00x") != row.end());
}

TEST(SameWinner, InMaps) {
  const std::vector<Results> files = planted();
  const auto maps = crossover_maps(files);
  EXPECT_EQ(maps.at(0).cells.at(0).points.at(0).winners(),
            (std::vector<std::string>{"steady", "partly_suspect", "noisy"}));
}

TEST(SameWinner, InRowsAndOnThePage) {
  const std::vector<Results> files = planted();
  Verdict rows, page;
  for (const Json& row : flat_rows(files))
    if (row["standing"] == "winner")
      rows.winners.insert(row["variant"]);
    else if (row["standing"] == "tied")
      rows.ties.insert(row["variant"]);
  EXPECT_EQ(rows, expected);
  const Json columns = page_data({files})["columns"];
  const auto text = [&](const char* column, std::size_t place) -> std::string {
    return columns[column]["texts"][columns[column]["at"][place].get<std::size_t>()];
  };
  for (std::size_t i = 0; i < files[0].records.size(); ++i)
    if (text("standing", i) == "winner")
      page.winners.insert(text("variant", i));
    else if (text("standing", i) == "tied")
      page.ties.insert(text("variant", i));
  EXPECT_EQ(page, expected);
  EXPECT_EQ(columns["over_winner"][6], 1.018);
}

TEST(SameWinner, InTheTunedTable) {
  const std::vector<Results> files = planted();
  std::vector<const Record*> records;
  for (const Record& record : files[0].records) records.push_back(&record);
  const auto entry = rank_bucket(bucket_of(problem_at(4096)), records, {});
  ASSERT_TRUE(entry);
  Verdict table{{entry->winner.variant}, {}};
  for (const TunedChoice& tie : entry->ties) table.ties.insert(tie.variant);
  EXPECT_EQ(table, expected);
}

}  // namespace
}  // namespace gla_bench
