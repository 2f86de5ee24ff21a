#include "harness/report/contests.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/timed_record.hpp"

namespace gla_bench {
namespace {

using toy::results_of;
using toy::timed;

Record peer(const std::string& variant, double ms) {
  Record record = timed(variant, ms);
  record.peer = true;
  return record;
}

TEST(Contests, HaveEachVariantsFastestRightTileAndTheFastestPeer) {
  Record wrong = timed("c", 0.1);
  wrong.status = Status::wrong;
  Record suspect = timed("d", 0.1);
  suspect.timing->suspect = true;
  Record hung = peer("hung", 0.1);
  hung.status = Status::timeout;
  const std::vector<Results> files{
      results_of({timed("a", 2), timed("b", 1, 32), timed("b", 1.5), wrong, suspect}),
      results_of({timed("a", 1.8, 64), peer("x", 4), peer("y", 3), hung}, "other.json")};
  const auto contests = contests_of(files);
  ASSERT_EQ(contests.size(), 1u);
  const Contest& contest = contests[0];
  ASSERT_EQ(contest.entrants.size(), 2u);
  EXPECT_EQ(contest.winner()->record->variant, "b");
  EXPECT_EQ(contest.winner()->ms(), 1);
  EXPECT_EQ(contest.next()->ms(), 1.8);
  EXPECT_EQ(contest.next()->file->file, "other.json");
  EXPECT_EQ(contest.peer->record->variant, "y");
  EXPECT_DOUBLE_EQ(contest.floor_ms(), 0.1);
  EXPECT_DOUBLE_EQ(contest.of_floor(), 0.1);
}

TEST(Contests, NamesWhatCanNotBeToldApart) {
  const std::vector<Results> files{results_of({timed("a", 1), timed("b", 1.005), timed("c", 1.1)})};
  const auto contests = contests_of(files);
  EXPECT_TRUE(contests[0].next()->tied) << "half a percent is within the drift of one run";
  EXPECT_FALSE(contests[0].entrants[2].tied);
  EXPECT_NEAR(contests[0].entrants[2].over_winner.ratio, 1.1, 1e-9);
}

TEST(Contests, OfOneProblemStandApartByDevice) {
  std::vector<Results> files{results_of({timed("a", 1)}), results_of({timed("a", 2)})};
  files[1].environment["device"] = std::string("another");
  EXPECT_EQ(contests_of(files).size(), 2u);
}

TEST(Contests, WithoutAWinnerHaveNoFigures) {
  Record wrong = timed("a", 1), refused = timed("b", 1);
  wrong.status = Status::wrong;
  refused.status = Status::rejected;
  const std::vector<Results> one{results_of({wrong})}, none{results_of({refused})};
  const auto contests = contests_of(one);
  ASSERT_EQ(contests.size(), 1u);
  EXPECT_EQ(contests[0].winner(), nullptr);
  EXPECT_EQ(contests[0].next(), nullptr);
  EXPECT_TRUE(std::isnan(contests[0].of_floor()));
  EXPECT_TRUE(contests_of(none).empty());
}

}  // namespace
}  // namespace gla_bench
