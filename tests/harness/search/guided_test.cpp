// The search that predictions guide, and what it believes.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/search/search.hpp"
#include "harness/search/surrogate.hpp"
#include "tests/harness/search/synthetic.hpp"

namespace gla_bench::search {
namespace {

/// Candidates of one variant and one axis, predicted at `predicted` ms.
std::vector<SearchCandidate> predicted_line(const std::vector<double>& predicted,
                                            double sigma = 0.2) {
  std::vector<SearchCandidate> list;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    list.push_back({"v", {{"a", static_cast<int>(i)}}, 1e9, 1e-3 * predicted[i], sigma, false});
  return list;
}

/// Answers with the candidates' own times (ms). Returns how many were looked at.
std::size_t search_through(Searcher& searcher, const std::vector<double>& times,
                           const std::set<std::size_t>& faulty = {}) {
  std::set<std::size_t> seen;
  for (Batch batch = searcher.next(); !batch.asks.empty(); batch = searcher.next())
    for (const Ask& ask : batch.asks) {
      if (!searcher.wanted(ask.candidate)) continue;
      seen.insert(ask.candidate);
      if (faulty.contains(ask.candidate))
        searcher.fail(ask.candidate);
      else
        searcher.tell(ask.candidate, std::vector<double>(static_cast<std::size_t>(ask.samples),
                                                         1e-3 * times[ask.candidate]));
    }
  return seen.size();
}

TEST(ExpectedImprovement, IsThatOfANormalDistribution) {
  EXPECT_DOUBLE_EQ(expected_improvement({-10, 0}, -9), 1);
  EXPECT_DOUBLE_EQ(expected_improvement({-8, 0}, -9), 0);
  // As good as the best: deviation / sqrt(2 pi).
  EXPECT_NEAR(expected_improvement({-9, 0.5}, -9), 0.5 * 0.398942, 1e-6);
  EXPECT_GT(expected_improvement({-8, 2}, -9), expected_improvement({-8, 0.5}, -9));
  EXPECT_NEAR(expected_improvement({0, 0.1}, -9), 0, 1e-12);
}

TEST(Surrogate, BelievesPredictionsUntilItSees) {
  Surrogate surrogate(predicted_line({1, 2, 4, 8}));
  auto beliefs = surrogate.beliefs();
  EXPECT_NEAR(beliefs[2].mean, std::log2(4e-3), 1e-12);
  EXPECT_NEAR(beliefs[2].deviation, 0.2, 1e-12);
  // A time twice the prediction: its neighbours are believed to be slower as well, the nearer the
  // more; and it is known, but for noise.
  surrogate.observe(2, 8e-3);
  beliefs = surrogate.beliefs();
  EXPECT_NEAR(beliefs[2].mean, std::log2(8e-3), 0.01);
  EXPECT_LT(beliefs[2].deviation, 0.02);
  const double near = beliefs[1].mean - std::log2(2e-3), far = beliefs[0].mean - std::log2(1e-3);
  EXPECT_GT(near, 0.4);
  EXPECT_GT(far, 0.1);
  EXPECT_LT(far, near);
  surrogate.forget(2);
  EXPECT_NEAR(surrogate.beliefs()[1].mean, std::log2(2e-3), 1e-12);
}

TEST(Surrogate, ErrorsThatWereSeenSayHowLargeOthersAre) {
  const std::vector<double> predicted(40, 1);
  Surrogate good(predicted_line(predicted)), bad(predicted_line(predicted));
  for (std::size_t i = 0; i < 12; ++i) {
    good.observe(i, 1e-3);
    bad.observe(i, (i % 2 == 0 ? 2e-3 : 0.5e-3));
  }
  EXPECT_LT(good.beliefs()[39].deviation, 0.2);
  EXPECT_GT(bad.beliefs()[39].deviation, 0.3);
}

TEST(Surrogate, WithoutPredictionsACandidateIsExpectedAmongTheSlowest) {
  auto list = predicted_line({1, 3, 2});
  list.push_back({"unknown", {}, 1e9});
  EXPECT_NEAR(Surrogate(list).beliefs()[3].mean, std::log2(3e-3), 1e-12);
  EXPECT_GT(Surrogate(list).beliefs()[3].deviation, 1);
}

TEST(Guided, FindsTheBestAmongThePredictedBest) {
  std::vector<double> predicted, times;
  for (int i = 0; i < 300; ++i) {
    times.push_back(1 + 0.05 * std::abs(i - 211));
    predicted.push_back(times.back() * (1 + 0.1 * std::sin(i)));
  }
  const auto searcher = make_searcher(Strategy::guided, predicted_line(predicted), {});
  const std::size_t looked = search_through(*searcher, times);
  EXPECT_EQ(searcher->best(), 211u);
  EXPECT_LE(looked, 40u);
  std::size_t unvisited = 0;
  for (const Finding& finding : searcher->findings())
    unvisited += finding.left == Left::unvisited ? 1 : 0;
  EXPECT_EQ(unvisited + looked, 300u);
}

TEST(Guided, SearchesOnWherePredictionsAreWrong) {
  // Predicted fastest at one end, and fastest at the other.
  std::vector<double> predicted, times;
  for (int i = 0; i < 120; ++i) {
    predicted.push_back(1 + 0.01 * i);
    times.push_back(2.2 - 0.01 * i);
  }
  const auto searcher = make_searcher(Strategy::guided, predicted_line(predicted, 0.5), {});
  search_through(*searcher, times);
  ASSERT_TRUE(searcher->best());
  EXPECT_LT(times[*searcher->best()], 1.02 * times[119]);
}

TEST(Guided, BeginsWithWhatAutoTakesAndEndsNoWorse) {
  std::vector<double> predicted, times(60, 3.0);
  for (int i = 0; i < 60; ++i) predicted.push_back(1 + 0.01 * i);
  times[57] = 1;  // measured once, but predicted to be slow
  auto list = predicted_line(predicted, 0.03);
  list[57].is_start = true;
  const auto searcher = make_searcher(Strategy::guided, list, {});
  const Batch first = searcher->next();
  ASSERT_FALSE(first.asks.empty());
  EXPECT_EQ(first.asks.front().candidate, 57u);
  EXPECT_EQ(first.asks.size(), SearchOptions().looks_at_once);
  EXPECT_EQ(searcher->outlook().size(), SearchOptions().looks_at_once);
  for (const Ask& ask : first.asks)
    searcher->tell(ask.candidate, std::vector<double>{1e-3 * times[ask.candidate]});
  search_through(*searcher, times);
  EXPECT_EQ(searcher->best(), 57u);
}

TEST(Guided, LooksAtFewAtLeastAndAtAllWhereThereAreFewer) {
  const auto few = make_searcher(Strategy::guided, predicted_line({1, 2, 3}), {});
  EXPECT_EQ(search_through(*few, {1, 2, 3}), 3u);
  std::vector<double> steep;
  for (int i = 0; i < 100; ++i) steep.push_back(std::exp2(i));
  const auto many = make_searcher(Strategy::guided, predicted_line(steep, 0.03), {});
  EXPECT_EQ(search_through(*many, steep), SearchOptions().least_looks);
}

TEST(Guided, FailuresNeverWinAndTheSearchGoesOn) {
  std::vector<double> predicted, times;
  for (int i = 0; i < 80; ++i) {
    predicted.push_back(1 + 0.02 * i);
    times.push_back(predicted.back());
  }
  std::set<std::size_t> faulty;
  for (std::size_t i = 0; i < 20; ++i) faulty.insert(i);
  const auto searcher = make_searcher(Strategy::guided, predicted_line(predicted), {});
  search_through(*searcher, times, faulty);
  ASSERT_TRUE(searcher->best());
  EXPECT_LT(times[*searcher->best()], 1.02 * times[20]);
  EXPECT_EQ(searcher->findings()[0].left, Left::failed);
}

/// Forty tiles of a variant that are predicted to be fast, and forty of one that are slower.
std::vector<SearchCandidate> two_variants() {
  std::vector<SearchCandidate> list;
  for (int i = 0; i < 80; ++i)
    list.push_back(
        {i < 40 ? "fast" : "slow", {{"a", i % 40}}, 1e9, i < 40 ? 1e-3 : 3e-3, 0.2, i == 0});
  return list;
}

TEST(Guided, WhereAllOfAVariantIsWrongTheOtherIsFound) {
  std::vector<double> times;
  for (int i = 0; i < 80; ++i) times.push_back(i < 40 ? 1.0 : 3.0 + 0.1 * std::abs(i - 70));
  std::set<std::size_t> wrong;
  for (std::size_t i = 0; i < 40; ++i) wrong.insert(i);
  const auto searcher = make_searcher(Strategy::guided, two_variants(), {});
  const std::size_t looked_at = search_through(*searcher, times, wrong);
  ASSERT_TRUE(searcher->best());
  EXPECT_LT(times[*searcher->best()], 3.5);
  EXPECT_LT(looked_at, 45u);
  std::size_t failed = 0;
  for (const Finding& finding : searcher->findings())
    failed += finding.left == Left::failed ? 1 : 0;
  EXPECT_LT(failed, 20u);
}

TEST(Guided, GoesOnUntilOneIsRight) {
  std::set<std::size_t> wrong;
  for (std::size_t i = 0; i < 79; ++i) wrong.insert(i);
  const auto searcher = make_searcher(Strategy::guided, two_variants(), {});
  EXPECT_EQ(search_through(*searcher, std::vector<double>(80, 1.0), wrong), 80u);
  EXPECT_EQ(searcher->best(), 79u);
}

TEST(Guided, AUsedUpBudgetGoesToTheRace) {
  std::vector<double> predicted(200, 1.0);
  const auto searcher = make_searcher(Strategy::guided, predicted_line(predicted, 1.0), {});
  Batch batch = searcher->next();
  for (const Ask& ask : batch.asks) searcher->tell(ask.candidate, std::vector<double>{1e-3});
  batch = searcher->next();
  for (const Ask& ask : batch.asks) searcher->skip(ask.candidate);
  batch = searcher->next();
  EXPECT_TRUE(batch.joint);
  EXPECT_TRUE(searcher->outlook().empty());
}

/// Predictions of the quality that a model of an H200 has, on made-up problems with noise.
TEST(Guided, ReplayedItNeedsASmallPartOfTheCandidates) {
  double worst = 0, tried = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    RecordedProblem problem = Synthetic(seed).problem(4, 1e-4);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> error(0, 0.15);
    for (std::size_t i = 0; i < problem.candidates.size(); ++i) {
      problem.candidates[i].predicted_seconds =
          problem.median_seconds(i) * std::exp2(error(random));
      problem.candidates[i].predicted_sigma = 0.15;
    }
    const Replayed one = replay(problem, Strategy::guided, {}, seed);
    worst = std::max(worst, one.regret);
    tried += static_cast<double>(one.tried) / 10;
    EXPECT_GE(one.compile_seconds, static_cast<double>(one.tried));
  }
  EXPECT_LT(worst, 0.06);
  EXPECT_LT(tried, 45);  // of 256
}

}  // namespace
}  // namespace gla_bench::search
