// Covering arrays of made-up factors, held to what brute force finds.

#include "harness/config/draws/pair_cover.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace gla_bench {
namespace {

std::vector<Factor> factors_of(const std::vector<int>& levels) {
  std::vector<Factor> factors;
  for (std::size_t factor = 0; factor < levels.size(); ++factor) {
    factors.push_back({"f" + std::to_string(factor), {}});
    for (int level = 0; level < levels[factor]; ++level)
      factors.back().levels.push_back(std::to_string(level));
  }
  return factors;
}

std::set<LevelPair> pairs_of(const Levels& row) {
  std::set<LevelPair> pairs;
  const int count = static_cast<int>(row.size());
  for (int a = 0; a < count; ++a)
    for (int b = a + 1; b < count; ++b)
      pairs.insert({a, row[static_cast<std::size_t>(a)], b, row[static_cast<std::size_t>(b)]});
  return pairs;
}

std::set<LevelPair> pairs_of(const std::vector<Levels>& rows) {
  std::set<LevelPair> all;
  for (const Levels& row : rows) all.merge(pairs_of(row));
  return all;
}

/// Every pair of which some row exists, by trying all rows.
std::set<LevelPair> existing_pairs(const CoverTask& task) {
  std::vector<Levels> rows{{}};
  for (const Factor& factor : task.factors) {
    std::vector<Levels> wider;
    for (const Levels& row : rows)
      for (int level = 0; level < static_cast<int>(factor.levels.size()); ++level) {
        wider.push_back(row);
        wider.back().push_back(level);
      }
    rows = std::move(wider);
  }
  std::erase_if(rows, [&](const Levels& row) { return !task.exists(row); });
  return pairs_of(rows);
}

CoverTask free_task(const std::vector<int>& levels) {
  return {factors_of(levels), {}, [](const Levels&) { return true; }, 0};
}

/// Of six factors: a level that needs another one, two that never meet, a sum that is too large,
/// and a level that does not exist.
CoverTask constrained_task() {
  CoverTask task{factors_of({2, 3, 4, 3, 2, 5}), {}, {}, 0};
  task.exists = [](const Levels& row) {
    if (row[0] == 1 && row[4] == 0) return false;
    if (row[1] == 2 && row[3] == 0) return false;
    if (row[2] == 3) return false;
    return row[2] + row[3] + row[5] < 7;
  };
  return task;
}

TEST(PairCover, HoldsEveryPairInFewRows) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const CoverTask task = free_task({3, 3, 3, 3});
    const PairCover cover = cover_pairs(task, seed);
    EXPECT_EQ(pairs_of(cover.rows), existing_pairs(task));
    EXPECT_EQ(cover.pairs, 54u);
    EXPECT_EQ(cover.covered(), 54u);
    EXPECT_LE(cover.rows.size(), 14u);  // nine are the fewest
    EXPECT_LE(cover_pairs(free_task({2, 2, 2, 2, 2, 2, 2, 2, 2, 2}), seed).rows.size(), 10u);
    EXPECT_LE(cover_pairs(free_task({8, 6, 4, 3, 3, 2, 2, 2, 2}), seed).rows.size(), 56u);
  }
}

TEST(PairCover, KnowsWhatDoesNotExist) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const CoverTask task = constrained_task();
    const PairCover cover = cover_pairs(task, seed);
    const std::set<LevelPair> existing = existing_pairs(task);
    for (const Levels& row : cover.rows) EXPECT_TRUE(task.exists(row));
    EXPECT_EQ(pairs_of(cover.rows), existing);
    EXPECT_EQ(cover.covered(), existing.size());
    EXPECT_EQ(cover.refused.size() + existing.size(), cover.pairs);
    for (const LevelPair& pair : cover.refused) EXPECT_FALSE(existing.contains(pair));
    EXPECT_TRUE(cover.missed.empty());
  }
}

TEST(PairCover, IsAFunctionOfTaskAndSeed) {
  EXPECT_EQ(cover_pairs(constrained_task(), 7).rows, cover_pairs(constrained_task(), 7).rows);
  EXPECT_NE(cover_pairs(constrained_task(), 7).rows, cover_pairs(constrained_task(), 8).rows);
}

TEST(PairCover, SaysWhatALimitLeavesOut) {
  CoverTask task = constrained_task();
  task.most_rows = 5;
  const PairCover cover = cover_pairs(task, 1);
  EXPECT_EQ(cover.rows.size(), 5u);
  EXPECT_FALSE(cover.missed.empty());
  EXPECT_EQ(pairs_of(cover.rows).size(), cover.covered());
  const std::set<LevelPair> covered = pairs_of(cover.rows);
  for (const LevelPair& pair : cover.missed) EXPECT_FALSE(covered.contains(pair));
}

TEST(PairCover, RowsBeginAsTheyMay) {
  CoverTask task = constrained_task();
  task.beginnings = {{0, 0}, {1, 1}, {0, 2}};
  const PairCover cover = cover_pairs(task, 1);
  for (const Levels& row : cover.rows)
    EXPECT_NE(std::find(task.beginnings.begin(), task.beginnings.end(), Levels{row[0], row[1]}),
              task.beginnings.end());
  // The first factors' other pairs are in none of the beginnings: nobody can say that they do not
  // exist.
  const std::set<LevelPair> missed(cover.missed.begin(), cover.missed.end());
  EXPECT_EQ(missed, (std::set<LevelPair>{{0, 0, 1, 1}, {0, 1, 1, 0}, {0, 1, 1, 2}}));
  const std::set<LevelPair> covered = pairs_of(cover.rows);
  EXPECT_TRUE(covered.contains({1, 0, 5, 4}));
  EXPECT_EQ(covered.size(), cover.covered());
}

TEST(PairCover, NothingIsCoveredWhereNothingExists) {
  CoverTask task = free_task({2, 2});
  task.exists = [](const Levels&) { return false; };
  const PairCover cover = cover_pairs(task, 1);
  EXPECT_TRUE(cover.rows.empty());
  EXPECT_EQ(cover.refused.size(), 4u);
}

}  // namespace
}  // namespace gla_bench
