// What --extend takes over of a file's records.

#include <gtest/gtest.h>

#include "tests/support/toy_rows.hpp"

namespace gla_bench {
namespace {

using toy::config_of;
using toy::Names;
using toy::names_of;
using toy::place_with;
using toy::rows_of;
using toy::work_of;

TakenOver taken(std::vector<Record> records, const Config& config,
                const Place& place = place_with()) {
  const auto work = work_of(config, place);
  return take_over(std::move(records),
                   asked_of(config, toy::catalog(), place, nullptr, std::span(work)), place);
}

TEST(TakeOver, KeepsAllOfAConfigThatAsksForMore) {
  const auto rows = rows_of(config_of(R"(["fast"])", {8}, "[16]"));
  for (const Config& more :
       {config_of(R"(["fast", "slow"])", {8}, "[16]"), config_of(R"(["fast"])", {8}),
        config_of(R"(["fast"])", {5, 8}, "[16]")}) {
    const TakenOver all = taken(rows, more);
    EXPECT_EQ(all.kept, 1);
    EXPECT_EQ(all.dropped + all.stale, 0);
    EXPECT_EQ(names_of(all.records), (Names{"fast 8 chunk=16"}));
  }
}

TEST(TakeOver, DropsAndCountsWhatIsNotAskedFor) {
  const auto rows = rows_of(config_of(R"(["fast", "slow"])", {5, 8}));
  const TakenOver left = taken(rows, config_of(R"(["fast"])", {8, 9}, "[32]"));
  EXPECT_EQ(left.kept, 1);
  EXPECT_EQ(left.dropped, 5);
  EXPECT_EQ(left.stale, 0);
  EXPECT_EQ(names_of(left.records), (Names{"fast 8 chunk=32"}));
}

TEST(TakeOver, RecordsOfOtherSourcesAreStaleWhereTheyAreAskedFor) {
  auto rows = rows_of(config_of(R"(["fast", "slow"])", {5, 8}));
  for (Record& row : rows)
    if (row.variant == "slow") row.source_hash = "before";
  const TakenOver left = taken(rows, config_of(R"(["fast", "slow"])", {8}));
  EXPECT_EQ(left.kept, 2);
  EXPECT_EQ(left.stale, 1);
  EXPECT_EQ(left.dropped, 3);
  EXPECT_EQ(names_of(left.records), (Names{"fast 8 chunk=16", "fast 8 chunk=32"}));
}

TEST(TakeOver, RecordsOfAnotherVerificationAreStaleAndThoseThatDoNotSayAreKept) {
  const Config config = config_of(R"(["fast", "slow"])", {8});
  auto rows = rows_of(config);
  ASSERT_EQ(rows.size(), 3u);
  Place place = place_with();
  const std::string today = "aaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb";
  place.verifier_hash = [&](const std::string&) { return today; };
  rows[0].verifier_hash = today;
  rows[1].verifier_hash = "aaaaaaaaaaaaaaaa-cccccccccccccccc";
  rows[2].verifier_hash = "";
  const TakenOver left = taken(rows, config, place);
  EXPECT_EQ(left.kept, 2);
  EXPECT_EQ(left.stale, 1);
}

TEST(TakeOver, RefusalsAreDecidedAnew) {
  const Config config = config_of(R"(["picky", "slow"])", {8});
  auto rows = rows_of(config);
  ASSERT_EQ(rows.size(), 2u);
  for (Record& row : rows) {
    row.status = Status::rejected;
    row.reason = "a reason of yesterday";
    row.source_hash = "before";
  }
  const TakenOver left = taken(rows, config);
  ASSERT_EQ(left.records.size(), 1u) << "slow takes it now";
  EXPECT_EQ(left.records[0].reason, "not today");
  EXPECT_EQ(left.records[0].source_hash, "picky1");
  EXPECT_EQ(left.kept + left.dropped + left.stale, 0);
}

TEST(TakeOver, WhatDoesNotFitTodayIsKept) {
  const Config config = config_of(R"(["slow"])", {8});
  Place small = place_with();
  small.host_memory = 100;
  ASSERT_TRUE(work_of(config, small)[0].accepted.empty());
  EXPECT_EQ(taken(rows_of(config), config, small).kept, 1);
}

TEST(TakeOver, HowAutoCameToARowIsToldAnew) {
  const Config plain = config_of(R"(["slow"])", {8});
  const Config by_auto = config_of(R"(["auto"])", {8});
  auto rows = rows_of(by_auto);
  const TakenOver chosen = taken(rows, by_auto);
  ASSERT_EQ(chosen.records.size(), 1u);
  ASSERT_TRUE(chosen.records[0].chosen_by);
  EXPECT_EQ(chosen.records[0].chosen_by->how, "default");
  for (Record& row : rows) row.chosen_by = chosen.records[0].chosen_by;
  const TakenOver named = taken(rows, config_of(R"(["fast", "slow"])", {8}));
  ASSERT_EQ(named.records.size(), 1u);
  EXPECT_FALSE(named.records[0].chosen_by);
}

}  // namespace
}  // namespace gla_bench
