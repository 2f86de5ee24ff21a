#include "harness/engine/sharding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/support/toy_rows.hpp"

namespace gla_bench {
namespace {

using toy::config_of;
using toy::place_with;
using toy::work_of;
using Ints = std::vector<int>;

std::vector<double> loads_of(std::span<const double> seconds, const Ints& cut, int shards) {
  std::vector<double> loads(static_cast<std::size_t>(shards));
  for (std::size_t i = 0; i < cut.size(); ++i)
    loads.at(static_cast<std::size_t>(cut[i]) - 1) += seconds[i];
  return loads;
}

TEST(Sharding, TheLongestComesFirstAndGoesWhereLeastIsToDo) {
  // 7 to the first, 6 to the second, 5 to the second (6 < 7), 4 to the first (7 < 11), ...
  EXPECT_EQ(balanced_cut(std::vector<double>{4, 7, 5, 6}, 2), (Ints{1, 1, 2, 2}));
  EXPECT_EQ(balanced_cut(std::vector<double>{5, 4, 3, 3, 3}, 2), (Ints{1, 2, 2, 1, 2}));
}

TEST(Sharding, EqualProblemsAreDealtOut) {
  EXPECT_EQ(balanced_cut(std::vector<double>{1, 1, 1, 1, 1}, 2), (Ints{1, 2, 1, 2, 1}));
  EXPECT_EQ(balanced_cut(std::vector<double>{0, 0, 0}, 3), (Ints{1, 2, 3}))
      << "problems that every variant refuses cost nothing, and are dealt out all the same";
}

TEST(Sharding, MoreShardsThanProblemsLeaveSomeEmpty) {
  EXPECT_EQ(balanced_cut(std::vector<double>{1, 2}, 5), (Ints{2, 1}));
  EXPECT_TRUE(balanced_cut({}, 3).empty());
  EXPECT_TRUE(places_of(Ints{2, 1}, 4).empty());
}

TEST(Sharding, NoShardHasMoreThanTheMeanAndOneProblem) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> draw(3, 1.5);
  for (const int shards : {1, 2, 7, 64, 1000}) {
    std::vector<double> seconds(2000);
    for (double& value : seconds) value = draw(random);
    const Ints cut = balanced_cut(seconds, shards);
    const auto loads = loads_of(seconds, cut, shards);
    const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    const double longest = *std::max_element(seconds.begin(), seconds.end());
    const double most = *std::max_element(loads.begin(), loads.end());
    EXPECT_NEAR(std::accumulate(loads.begin(), loads.end(), 0.0), sum, 1e-6 * sum);
    EXPECT_LE(most, std::max(longest, 4.0 / 3 * std::max(longest, sum / shards)) * (1 + 1e-12));
    EXPECT_LE(most, sum / shards + longest);
    EXPECT_EQ(balanced_cut(seconds, shards), cut);
  }
}

TEST(Sharding, LongerProblemsWithMoreTilesTakeLonger) {
  const auto work = work_of(config_of(R"(["fast"])", {8, 4096}), place_with());
  const auto few = work_of(config_of(R"(["fast"])", {8, 4096}, "[16]"), place_with());
  const TimingPolicy timing;
  const auto all = nominal_seconds(work, BackendId::host, true, timing);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_LT(all[0], all[1]);
  EXPECT_LT(nominal_seconds(few, BackendId::host, true, timing)[1], all[1]);
  EXPECT_LT(nominal_seconds(work, BackendId::host, false, timing)[1], all[1])
      << "verification alone takes less";
}

TEST(Sharding, WhatAMachineHasInMemoryIsNoPartOfTheCut) {
  const Config config = config_of(R"(["fast", "slow"])", {8, 9, 300, 4096, 5, 1000});
  Place small = place_with();
  small.host_memory = 100'000;
  const auto refused = work_of(config, small);
  ASSERT_TRUE(std::any_of(refused.begin(), refused.end(), [](const Assignment& point) {
    return point.accepted.empty();
  })) << "a problem has to be too large, or this shows nothing";
  EXPECT_EQ(shards_of(config, toy::catalog(), small, true, 3),
            shards_of(config, toy::catalog(), place_with(), true, 3));
}

TEST(Sharding, ShardsHaveEachProblemOnceWithAllOfItsCandidates) {
  const Config config = config_of(R"(["fast", "slow"])", {8, 9, 300, 70, 5, 1000, 11});
  const auto whole = work_of(config, place_with());
  const Ints cut = shards_of(config, toy::catalog(), place_with(), true, 3);
  std::vector<AskedPoint> all;
  for (int number = 1; number <= 3; ++number) {
    auto work = whole;
    const auto places = places_of(cut, number);
    keep_places(work, places);
    const auto asked = asked_points(work, places);
    EXPECT_GE(asked.size(), 1u);
    all.insert(all.end(), asked.begin(), asked.end());
  }
  std::sort(all.begin(), all.end(),
            [](const AskedPoint& a, const AskedPoint& b) { return a.place < b.place; });
  ASSERT_EQ(all.size(), whole.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].place, static_cast<std::int64_t>(i) + 1);
    EXPECT_EQ(all[i].problem, whole[i].problem);
    std::size_t tiles = 0;
    for (const auto& [variant, list] : all[i].candidates) tiles += list.size();
    EXPECT_EQ(tiles, whole[i].accepted.size());
  }
}

}  // namespace
}  // namespace gla_bench
