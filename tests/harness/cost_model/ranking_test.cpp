#include "harness/cost_model/ranking.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace gla_bench::cost_model {
namespace {

struct Pull {
  std::vector<double> slopes, weights;
};

Pull pull(const Ranking& ranking, const std::vector<double>& predicted) {
  Pull result{std::vector<double>(predicted.size(), 7), std::vector<double>(predicted.size(), 7)};
  ranking.look(predicted, result.slopes, result.weights);
  return result;
}

TEST(Ranking, PullsTheFasterOneUpAndTheOtherDownByAsMuch) {
  const Pull one = pull(Ranking({{{0, 1}, {0, 0.5}}}), {0, 0});
  EXPECT_GT(one.slopes[0], 0);
  EXPECT_DOUBLE_EQ(one.slopes[1], -one.slopes[0]);
  EXPECT_GT(one.weights[0], 0);
  EXPECT_DOUBLE_EQ(one.weights[1], one.weights[0]);
}

TEST(Ranking, PullsLessWhereTheOrderIsRightAlready) {
  const Ranking ranking({{{0, 1}, {0, 0.5}}});
  EXPECT_LT(pull(ranking, {3, 0}).slopes[0], pull(ranking, {0, 3}).slopes[0]);
}

TEST(Ranking, LeavesEqualTimesAndExamplesOfNoContestWhereTheyAre) {
  const Pull one = pull(Ranking({{{1, 3}, {0, 0}}}), {0, 0, 0, 0});
  EXPECT_EQ(one.slopes, std::vector<double>(4, 0.0));
  EXPECT_EQ(one.weights, std::vector<double>(4, 0.0));
}

TEST(Ranking, CountsTheFirstPlacesAlone) {
  // The wrong order is behind the first place, which is right.
  const Contest contest{{0, 1, 2}, {0, 0.5, 1}};
  const std::vector<double> predicted{9, 1, 2};
  EXPECT_LE(pull(Ranking({contest}, 1), predicted).slopes[1], 0);
  EXPECT_GT(pull(Ranking({contest}, 30), predicted).slopes[1], 0);
}

// Which of three kinds is fastest depends on a feature of the problem.
std::size_t fastest_of(double size) {
  return size > 13 ? 2 : size > 6 ? 1 : 0;
}

TEST(Ranking, IsLearntWhereItDependsOnTheProblem) {
  std::mt19937_64 random(5);
  const auto draw = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  Rows rows;
  std::vector<Contest> contests;
  for (int problem = 0; problem < 60; ++problem) {
    const double size = 20 * draw();
    Contest contest;
    for (std::size_t kind = 0; kind < 3; ++kind) {
      contest.examples.push_back(rows.size());
      contest.behind.push_back(kind == fastest_of(size) ? 0 : 0.3);
      rows.push_back({size, static_cast<double>(kind), draw()});
    }
    contests.push_back(contest);
  }
  const Regression order =
      fit_trees(rows, Ranking(contests), {.trees = 100, .depth = 4, .leaf_weight = 0.05});
  for (const double size : {2.0, 9.0, 17.0}) {
    std::vector<double> scores;
    for (const double kind : {0.0, 1.0, 2.0}) scores.push_back(order.predict({size, kind, 0.5}));
    const auto highest = std::max_element(scores.begin(), scores.end()) - scores.begin();
    EXPECT_EQ(static_cast<std::size_t>(highest), fastest_of(size)) << size;
  }
}

}  // namespace
}  // namespace gla_bench::cost_model
