#include "harness/records/contest.hpp"

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
  EXPECT_EQ(contest.peer()->record->variant, "y");
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

/// Twenty samples that lie evenly within a share of the median.
Record spread(const std::string& variant, double ms, double noise) {
  Record record = timed(variant, ms);
  for (int i = 0; i < 20; ++i)
    record.timing->cold.samples_ms[static_cast<std::size_t>(i)] =
        ms * (1 + noise * ((i * 7) % 20 - 9.5) / 9.5);
  return record;
}

TEST(Contests, TieWhereTheIntervalOfTheRatioReachesDownToOne) {
  const std::vector<Results> files{
      results_of({spread("a", 1, 0.001), spread("b", 1.018, 0.001), spread("c", 1.03, 0.1)})};
  const Contest contest = contests_of(files).at(0);
  // 1.018 is apart by more than the drift of 1 %, and hardly spreads.
  EXPECT_FALSE(contest.entrants[1].tied);
  EXPECT_DOUBLE_EQ(contest.entrants[1].over_winner.ratio, 1.018);
  EXPECT_NEAR(contest.entrants[1].over_winner.low, 1.018 / 1.01, 1e-3);
  EXPECT_NEAR(contest.entrants[1].over_winner.high, 1.018 * 1.01, 1e-3);
  // 1.03 is farther, but so noisy that it may as well be the faster one.
  EXPECT_TRUE(contest.entrants[2].tied);
  EXPECT_LT(contest.entrants[2].over_winner.low, 1);
  EXPECT_EQ(contest.winners(), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(contest.runner_up()->record->variant, "b");
  EXPECT_EQ(contest.next()->record->variant, "b");
}

TEST(Contests, AllowTwoRunsMoreDrift) {
  const std::vector<Results> one{results_of({timed("a", 1), timed("b", 1.02)})};
  EXPECT_FALSE(contests_of(one).at(0).next()->tied);
  const std::vector<Results> two{results_of({timed("a", 1)}), results_of({timed("b", 1.02)}, "s")};
  const Contest apart = contests_of(two).at(0);
  EXPECT_TRUE(apart.next()->tied);
  EXPECT_NEAR(apart.next()->over_winner.low, 1.02 / 1.03, 1e-9);
}

TEST(Contests, TellForEachPairWhetherItCanBeToldApart) {
  const std::vector<Results> files{
      results_of({timed("a", 1), timed("b", 1.008), timed("c", 1.015), spread("d", 1.02, 0.2)})};
  // Neighbours are within the drift of 1 %; the noisy one is like all of them.
  EXPECT_EQ(ties_of(contests_of(files).at(0)),
            (std::vector<std::vector<std::size_t>>{{1, 3}, {0, 2, 3}, {1, 3}, {0, 1, 2}}));
  EXPECT_TRUE(ties_of(Contest{}).empty());
}

TEST(Contests, AnEarlyEndOfASearchNeitherWinsNorTies) {
  Record early = timed("early", 0.9);
  early.search = SearchNote{"halving", "slower", 2};
  const std::vector<Results> files{results_of({early, timed("a", 1)})};
  const Contest contest = contests_of(files).at(0);
  EXPECT_EQ(contest.winners(), std::vector<std::string>{"a"});
  EXPECT_EQ(contest.next()->record->variant, "early");
  EXPECT_NEAR(contest.next()->over_winner.ratio, 0.9, 1e-12);
}

TEST(Contests, SayOfEachRecordWhereItStands) {
  Record suspect = timed("liar", 0.1, 16), wrong = timed("w", 0.1), later = timed("l", 0.1),
         unjudged = timed("u", 0.1), refused = timed("r", 0.1), built = timed("built", 0.1);
  suspect.timing->suspect = true;
  wrong.status = Status::wrong;
  later.verification->last_timed_ok = false;
  unjudged.verification.reset();
  refused.status = Status::rejected;
  built.status = Status::built;
  built.timing.reset();
  const std::vector<Results> files{results_of(
      {suspect, timed("liar", 1.2, 32), timed("liar", 1.3, 64), wrong, later, unjudged, refused,
       built, peer("p", 0.2), peer("p", 0.3), timed("a", 1), timed("b", 1.001)})};
  std::vector<std::string> standings;
  for (const Placing& placing : all_contests(files).at(0).records)
    standings.emplace_back(name(placing.standing));
  EXPECT_EQ(standings, (std::vector<std::string>{"suspect", "slower", "slower_tile", "failed",
                                                 "failed", "not_verified", "not_timed", "not_timed",
                                                 "peer", "slower_tile", "winner", "tied"}));
}

TEST(Contests, OfOneProblemStandApartByBackend) {
  Record host = timed("a", 9);
  host.backend = BackendId::host;
  Record device = timed("a", 1);
  device.backend = BackendId::cuda;
  const std::vector<Results> files{results_of({host, device})};
  EXPECT_EQ(contests_of(files).size(), 2u);
}

TEST(Contests, TakeTheCopyRateOfTheDeviceWhereAFileHasNone) {
  std::vector<Results> files{results_of({}), results_of({}), results_of({})};
  files[0].environment.erase("copy_gb_per_s");
  files[1].environment["copy_gb_per_s"] = 12.0;
  files[2].environment["device"] = std::string("another");
  files[2].environment["copy_gb_per_s"] = 99.0;
  EXPECT_EQ(copy_rate(files[0], files), 12);
  EXPECT_EQ(copy_rate(files[1], files), 12);
  EXPECT_EQ(copy_rate(files[2], files), 99);
  EXPECT_EQ(copy_rate(files[0], {}), 0);
}

}  // namespace
}  // namespace gla_bench
