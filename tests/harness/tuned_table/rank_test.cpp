#include "harness/tuned_table/rank.hpp"

#include <gtest/gtest.h>

#include "tests/harness/tuned_table/records.hpp"

namespace gla_bench {
namespace {

std::optional<TunedEntry> rank(const std::vector<Record>& records) {
  std::vector<const Record*> rows;
  for (const Record& record : records) rows.push_back(&record);
  return rank_bucket(bucket_of(records.front().problem), rows, {});
}

const Problem here = problem_at(4096);

TEST(Rank, TheFastestWinsByItsMargin) {
  const auto entry = rank({timed_record(here, "chunk_fused", {{"chunk", 32}}, 1.2),
                           timed_record(here, "chunk_fused", {{"chunk", 64}}, 1.0),
                           timed_record(here, "recurrent", {}, 3.0)});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->winner.variant, "chunk_fused");
  EXPECT_EQ(entry->winner.tile.at("chunk"), 64);
  EXPECT_EQ(entry->won_by, "time");
  ASSERT_TRUE(entry->runner_up);
  EXPECT_EQ(entry->runner_up->tile.at("chunk"), 32);
  EXPECT_NEAR(entry->runner_up->ratio, 1.2, 1e-9);
  EXPECT_GT(entry->runner_up->low, 1.17);
  EXPECT_LT(entry->runner_up->high, 1.23);
  EXPECT_TRUE(entry->ties.empty());
  ASSERT_EQ(entry->others.size(), 1u);
  EXPECT_EQ(entry->others[0].variant, "recurrent");
  EXPECT_NEAR(entry->others[0].ratio, 3.0, 1e-9);
  ASSERT_EQ(entry->problems.size(), 1u);
  EXPECT_EQ(entry->problems[0].regret, 0.0);
  EXPECT_LT(entry->problems[0].low_ms, 1.0);
  EXPECT_GT(entry->problems[0].high_ms, 1.0);
  EXPECT_GT(entry->problems[0].low_ms, 0.99);
  EXPECT_EQ(entry->candidates, 3u);
}

TEST(Rank, WhatCanNotBeToldApartIsDecidedByError) {
  const auto entry =
      rank({timed_record(here, "a", {}, 1.000, 2e-3), timed_record(here, "b", {}, 1.004, 1e-3),
            timed_record(here, "c", {}, 1.3, 1e-6)});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->winner.variant, "b");
  EXPECT_EQ(entry->won_by, "error");
  ASSERT_EQ(entry->ties.size(), 1u);
  EXPECT_EQ(entry->ties[0].variant, "a");
  EXPECT_LT(entry->ties[0].ratio, 1);  // it was faster, by nothing
  EXPECT_EQ(entry->runner_up->variant, "a");
  EXPECT_NEAR(entry->worst_regret, 0.004, 1e-9);
}

TEST(Rank, AndThenByWorkspace) {
  Record large = timed_record(here, "a", {}, 1.000, 1.00e-3);
  Record small = timed_record(here, "b", {}, 1.004, 1.01e-3);  // the same error, but for rounding
  large.io.workspace_bytes = 1e9;
  const auto entry = rank({large, small});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->winner.variant, "b");
  EXPECT_EQ(entry->won_by, "workspace");
}

TEST(Rank, NoiseMakesTies) {
  const double far = 1.03;
  const auto quiet = rank(
      {timed_record(here, "a", {}, 1, 2e-3, 0.005), timed_record(here, "b", {}, far, 1e-3, 0.005)});
  EXPECT_EQ(quiet->winner.variant, "a");
  EXPECT_TRUE(quiet->ties.empty());
  const auto noisy = rank(
      {timed_record(here, "a", {}, 1, 2e-3, 0.2), timed_record(here, "b", {}, far, 1e-3, 0.2)});
  EXPECT_EQ(noisy->winner.variant, "b");
  EXPECT_EQ(noisy->ties.size(), 1u);
}

TEST(Rank, WhatIsNotRightCanNotWin) {
  Record suspect = timed_record(here, "suspect", {}, 0.1);
  suspect.timing->suspect = true;
  Record peer = timed_record(here, "peer", {}, 0.1);
  peer.peer = true;
  Record late = timed_record(here, "late", {}, 0.1);
  late.verification->last_timed_ok = false;
  Record unverified = timed_record(here, "unverified", {}, 0.1);
  unverified.verification.reset();
  const auto entry = rank({suspect, peer, late, unverified, failed_record(here, "wrong", {}),
                           timed_record(here, "right", {}, 1.0)});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->winner.variant, "right");
  EXPECT_EQ(entry->won_by, "only");
  EXPECT_EQ(entry->candidates, 1u);
  EXPECT_EQ(entry->failed, 1u);
  EXPECT_FALSE(rank({failed_record(here, "wrong", {})}));
}

TEST(Rank, WhatIsWrongOnOneProblemWinsNowhereInTheBucket) {
  Problem strong = here;
  strong.gate = "strong";
  for (const Status status : {Status::wrong, Status::crashed, Status::timeout, Status::build_failed,
                              Status::run_failed}) {
    const auto entry =
        rank({timed_record(here, "fast", {}, 0.5), failed_record(strong, "fast", {}, status),
              timed_record(here, "slow", {}, 1.0), timed_record(strong, "slow", {}, 1.0)});
    ASSERT_TRUE(entry);
    EXPECT_EQ(entry->winner.variant, "slow") << name(status);
    EXPECT_EQ(entry->failed, 1u);
  }
}

TEST(Rank, RegretIsOverAllProblemsOfTheBucket) {
  const Problem longer = problem_at(5000);
  const auto entry = rank({timed_record(here, "a", {}, 1.0), timed_record(longer, "a", {}, 1.5),
                           timed_record(here, "b", {}, 1.3), timed_record(longer, "b", {}, 1.25)});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->winner.variant, "a");  // 0 and 20 % against 30 % and 0
  EXPECT_NEAR(entry->worst_regret, 0.2, 1e-9);
  EXPECT_NEAR(entry->median_regret, 0.1, 1e-9);
  ASSERT_EQ(entry->problems.size(), 2u);
  EXPECT_EQ(entry->problems[1].best_variant, "b");
  EXPECT_NEAR(*entry->problems[1].regret, 0.2, 1e-9);
}

TEST(Rank, MeasuredOnMoreOfTheProblemsComesFirstAmongAlike) {
  const Problem longer = problem_at(5000);
  const auto entry = rank({timed_record(here, "a", {}, 1.0), timed_record(longer, "a", {}, 1.0),
                           timed_record(here, "b", {}, 0.97)});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->winner.variant, "a");
  EXPECT_NEAR(entry->worst_regret, 1.0 / 0.97 - 1, 1e-9);  // and says what it costs
}

// The only candidate that was timed everywhere may be the slowest of all.
TEST(Rank, MeasuredOnMoreOfTheProblemsDoesNotWinWhereItIsFarBehind) {
  const Problem longer = problem_at(5000);
  const auto entry =
      rank({timed_record(here, "slow", {}, 3.0), timed_record(longer, "slow", {}, 1.5),
            timed_record(longer, "other", {}, 1.4), timed_record(here, "fast", {}, 1.0)});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->winner.variant, "fast");
  ASSERT_TRUE(entry->runner_up);
}

// Where it was timed it is 7 % ahead of the one that is best of those timed on the other problem.
TEST(Rank, WhatIsAheadWhereItWasTimedWinsAmongManySlowOnes) {
  const Problem longer = problem_at(5000);
  std::vector<Record> records{timed_record(here, "ahead", {}, 1.0),
                              timed_record(here, "second", {}, 1.07),
                              timed_record(longer, "second", {}, 1.0)};
  for (int chunk = 1; chunk <= 8; ++chunk)
    for (const Problem& problem : {here, longer})
      records.push_back(timed_record(problem, "slow", {{"chunk", chunk}}, 1.5));
  EXPECT_EQ(rank(records)->winner.variant, "ahead");
}

TEST(Rank, WhatASearchLeftEarlyDoesNotWin) {
  Record early = timed_record(here, "early", {}, 0.99, 1e-6);
  early.search = SearchNote{"halving", "slower", 1, {}, {}};
  Record last = timed_record(here, "last", {}, 1.0);
  last.search = SearchNote{"halving", "end", 5, {}, {}};
  const auto entry = rank({early, last});
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->winner.variant, "last");
  EXPECT_TRUE(entry->ties.empty());
  EXPECT_EQ(entry->problems[0].best_variant, "last");
  EXPECT_EQ(rank({early})->winner.variant, "early");
}

TEST(Rank, OrderOfTheRecordsDoesNotMatter) {
  std::vector<Record> records;
  for (int i = 0; i < 6; ++i)
    records.push_back(
        timed_record(here, "v" + std::to_string(i % 3), {{"chunk", 16 << i}}, 1 + 0.001 * (i % 4)));
  const auto first = rank(records);
  std::reverse(records.begin(), records.end());
  const auto second = rank(records);
  EXPECT_EQ(first->winner.tile, second->winner.tile);
  ASSERT_EQ(first->ties.size(), second->ties.size());
  for (std::size_t i = 0; i < first->ties.size(); ++i)
    EXPECT_EQ(first->ties[i].tile, second->ties[i].tile);
}

}  // namespace
}  // namespace gla_bench
