// What choices cost over the best of all candidates.

#include "harness/search/regret.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/support/sample_record.hpp"

namespace gla_bench::search {
namespace {

TEST(DrawnPlaces, AreDrawnBySeedAndInOrder) {
  const auto five = drawn_places(100, 5, 1);
  ASSERT_EQ(five.size(), 5u);
  EXPECT_TRUE(std::is_sorted(five.begin(), five.end()));
  EXPECT_EQ(std::set(five.begin(), five.end()).size(), 5u);
  EXPECT_LT(five.back(), 100u);
  EXPECT_EQ(drawn_places(100, 5, 1), five);
  EXPECT_NE(drawn_places(100, 5, 2), five);
  EXPECT_EQ(drawn_places(3, 5, 1), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(drawn_places(0, 5, 1).empty());
  // Each place is as likely as any other.
  std::vector<int> count(10);
  for (std::uint64_t seed = 0; seed < 2000; ++seed)
    for (const std::size_t place : drawn_places(10, 3, seed)) ++count[place];
  for (const int one : count) EXPECT_NEAR(one, 600, 90);
}

class RegretTest : public testing::Test {
 protected:
  RegretTest() {
    for (const auto& [chunk, ms] : {std::pair(16, 2.0), {32, 1.0}, {64, 1.5}, {128, 0.1}}) {
      Record record = sample_record(1);
      record.tile = {{"chunk", chunk}};
      record.timing->cold.median_ms = ms;
      record.timing->suspect = false;
      if (chunk == 128) record.status = Status::wrong;
      variant_.name = record.variant;
      problem_ = record.problem;
      records_[key_of(record)] = record;
    }
  }

  Record at(int chunk) const {
    for (const auto& [key, record] : records_)
      if (record.tile.at("chunk") == chunk) return record;
    return {};
  }

  SearchedProblem found(int chunk) const { return {problem_, 4, 3, at(chunk), 0, 2.5}; }
  std::optional<Candidate> chosen(int chunk) const {
    return Candidate{&variant_, problem_, {{"chunk", chunk}}};
  }

  Variant variant_;
  Problem problem_;
  MeasuredAll records_;
};

TEST_F(RegretTest, IsTheTimeOverTheBestOfThoseThatAreRight) {
  const std::vector<SearchedProblem> searched{found(64)};
  const std::vector<std::optional<Candidate>> choices{chosen(16)};
  const auto rows = judge_searches(searched, choices, 1, records_);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].candidates, 3u);  // the wrong one is none
  EXPECT_EQ(rows[0].best, variant_.name + " chunk=32");
  EXPECT_DOUBLE_EQ(rows[0].best_ms, 1);
  EXPECT_DOUBLE_EQ(rows[0].by_auto.regret.value(), 1);
  EXPECT_DOUBLE_EQ(rows[0].by_search.regret.value(), 0.5);
  EXPECT_EQ(rows[0].tried, 3u);
  EXPECT_DOUBLE_EQ(rows[0].search_seconds, 2.5);
  const Regrets of_auto = regrets_of(rows, &JudgedProblem::by_auto);
  EXPECT_EQ(of_auto.problems, 1u);
  EXPECT_EQ(of_auto.within_2_percent, 0u);
  EXPECT_DOUBLE_EQ(of_auto.worst, 1);
  const std::string report = judgement_report(rows, false);
  EXPECT_NE(report.find(" 100 % "), std::string::npos) << report;
  EXPECT_NE(report.find("0 of 1 within 2 %"), std::string::npos) << report;
}

TEST_F(RegretTest, ACandidateThatLeftEarlyHasATimeButIsNeverTheBest) {
  for (auto& [key, record] : records_) {
    if (record.tile.at("chunk") != 32) continue;
    record.status = Status::verified;
    record.search.emplace();
  }
  const std::vector<SearchedProblem> searched{found(64)};
  const auto rows = judge_searches(searched, std::vector{chosen(32)}, 1, records_);
  EXPECT_EQ(rows.at(0).candidates, 3u);
  EXPECT_DOUBLE_EQ(rows[0].best_ms, 1.5);
  EXPECT_DOUBLE_EQ(rows[0].by_auto.regret.value(), 1 / 1.5 - 1);
}

TEST_F(RegretTest, AWrongOrMissingChoiceIsUnknownAndNeverGood) {
  SearchedProblem none = found(32);
  none.best.reset();
  const std::vector<SearchedProblem> searched{none};
  const auto wrong = judge_searches(searched, std::vector{chosen(128)}, 1, records_);
  EXPECT_FALSE(wrong.at(0).by_auto.regret);
  EXPECT_EQ(wrong.at(0).by_auto.unknown, "wrong");
  EXPECT_EQ(wrong.at(0).by_search.unknown, "the search found none");
  const auto other = judge_searches(searched, std::vector{chosen(8)}, 1, records_);
  EXPECT_EQ(other.at(0).by_auto.unknown, "it is none of the candidates");
  const Regrets regrets = regrets_of(other, &JudgedProblem::by_auto);
  EXPECT_EQ(regrets.unknown, 1u);
  EXPECT_TRUE(std::isnan(regrets.worst));
}

TEST_F(RegretTest, AProblemThatWasNotMeasuredWholeIsNotJudged) {
  const std::vector<SearchedProblem> searched{found(32)};
  EXPECT_TRUE(judge_searches(searched, std::vector{chosen(32)}, 0, records_).empty());
}

}  // namespace
}  // namespace gla_bench::search
