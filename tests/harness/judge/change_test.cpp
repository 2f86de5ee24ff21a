#include "harness/judge/change.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gla_bench {
namespace {

Change judge(double low, double ratio, double high, bool significant = true,
             std::size_t count = 30) {
  return judge_change({ratio, low, high, 0, count}, {}, significant);
}

TEST(Change, SameIsAClaimAboutTheWholeInterval) {
  EXPECT_EQ(judge(0.99, 1, 1.01), Change::same);
  EXPECT_EQ(judge(1.001, 1.005, 1.009), Change::same);  // longer, but by less than counts
  EXPECT_EQ(judge(0.99, 1, 1.01, false), Change::same);
  EXPECT_EQ(judge(0.97, 1, 1.03), Change::inconclusive);
  EXPECT_EQ(judge(0.99, 1, 1.021), Change::inconclusive);
}

TEST(Change, SlowerNeedsTheEffectTheIntervalAndTheFamily) {
  EXPECT_EQ(judge(1.01, 1.03, 1.05), Change::slower);
  EXPECT_EQ(judge(1.01, 1.03, 1.05, false), Change::inconclusive);
  EXPECT_EQ(judge(0.999, 1.03, 1.05), Change::inconclusive);
  EXPECT_EQ(judge(1.005, 1.015, 1.03), Change::inconclusive);
}

TEST(Change, FasterIsSlowerTurnedRound) {
  EXPECT_EQ(judge(1 / 1.05, 1 / 1.03, 1 / 1.01), Change::faster);
  EXPECT_EQ(judge(1 / 1.05, 1 / 1.03, 1 / 1.01, false), Change::inconclusive);
  EXPECT_EQ(judge(1 / 1.05, 1 / 1.03, 1.001), Change::inconclusive);
}

TEST(Change, FewRoundsAndNaNAreInconclusive) {
  const double nan = std::nan("");
  EXPECT_EQ(judge(1, 1, 1, true, 9), Change::inconclusive);
  EXPECT_EQ(judge(nan, nan, nan), Change::inconclusive);
  EXPECT_EQ(why_inconclusive({1, 1, 1, 0, 9}, {}, true), "9 rounds, at least 10 are needed");
  EXPECT_EQ(why_inconclusive({nan, nan, nan, 1, 30}, {}, true), "a time is not a positive number");
  EXPECT_EQ(why_inconclusive({1, 0.97, 1.03, 0, 30}, {}, true),
            "the interval -3.00 % .. +3.00 % reaches out of the band and over 0");
}

TEST(Holm, IsBonferroniForTheFirstAndStopsAtTheFirstThatFails) {
  EXPECT_EQ(holm(std::vector<double>{0.01, 0.04, 0.03}, 0.05),
            (std::vector<bool>{true, false, false}));
  EXPECT_EQ(holm(std::vector<double>{0.04, 0.001, 0.02}, 0.05),
            (std::vector<bool>{true, true, true}));
  EXPECT_EQ(holm(std::vector<double>{0.02, 0.02, 0.02}, 0.05),
            (std::vector<bool>{false, false, false}));
  EXPECT_EQ(holm(std::vector<double>{std::nan(""), 0.001}, 0.05), (std::vector<bool>{false, true}));
  EXPECT_TRUE(holm({}, 0.05).empty());
}

}  // namespace
}  // namespace gla_bench
