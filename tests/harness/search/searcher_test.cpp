// Searchers, asked and told by hand.

#include "harness/search/searcher.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "harness/search/search.hpp"

namespace gla_bench::search {
namespace {

std::vector<SearchCandidate> line(int count) {
  std::vector<SearchCandidate> list;
  for (int i = 0; i < count; ++i) list.push_back({"v", {{"a", i}}, 1e9});
  return list;
}

/// A search that looks at all of so many before it races them.
SearchOptions looking_at(std::size_t count) {
  SearchOptions options;
  options.least_looks = count;
  return options;
}

/// Answers every ask with the candidate's own time, without noise; `faulty` ones fail.
std::size_t run(Searcher& searcher, const std::vector<double>& times,
                const std::set<std::size_t>& faulty = {}) {
  std::size_t samples = 0;
  for (Batch batch = searcher.next(); !batch.asks.empty(); batch = searcher.next())
    for (const Ask& ask : batch.asks) {
      if (!searcher.wanted(ask.candidate)) continue;
      if (faulty.contains(ask.candidate)) {
        searcher.fail(ask.candidate);
        continue;
      }
      const std::vector<double> told(static_cast<std::size_t>(ask.samples), times[ask.candidate]);
      samples += told.size();
      searcher.tell(ask.candidate, told);
    }
  return samples;
}

TEST(Interval, OneSampleHasOneAndMoreNarrowIt) {
  const std::vector<double> one{1e-3}, many(30, 1e-3);
  EXPECT_NEAR(relative_half_width(one), 2.776 * 0.0202, 1e-3);
  EXPECT_LT(relative_half_width(many), 0.005);
  EXPECT_GT(relative_half_width(many), 0);
  EXPECT_TRUE(std::isnan(relative_half_width({})));
  EXPECT_LT(interval_of(one).low, 1e-3);
  EXPECT_GT(interval_of(one).high, 1e-3);
  const std::vector<double> quick{1e-5};
  EXPECT_GT(relative_half_width(quick), relative_half_width(one));  // the timer's steps
}

TEST(Interval, HoldsTheTrueMedianNineteenTimesOfTwenty) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(1e-3, 1.5e-5);
  for (const std::size_t count : {3u, 6u, 14u, 30u}) {
    int held = 0;
    for (int i = 0; i < 1000; ++i) {
      std::vector<double> samples(count);
      for (double& sample : samples) sample = noise(random);
      const Interval interval = interval_of(samples);
      held += interval.low <= 1e-3 && 1e-3 <= interval.high ? 1 : 0;
    }
    EXPECT_GE(held, 930) << count;
  }
}

TEST(Interval, ClearOfTheBestOnlyBeyondTheDrift) {
  const Interval best{0.9, 1.0}, slow{1.02, 1.1};
  EXPECT_TRUE(is_clear_of(slow, best, 0));
  EXPECT_FALSE(is_clear_of(slow, best, 0.03));
  EXPECT_FALSE(is_clear_of(best, best, 0));
  EXPECT_FALSE(is_clear_of({std::nan(""), 2}, best, 0));
}

TEST(Race, LooksAtAllOnceAndGivesItsEffortToTheBest) {
  const auto searcher = make_searcher(Strategy::guided, line(40), looking_at(40));
  std::vector<double> times;
  for (int i = 0; i < 40; ++i) times.push_back(1e-3 * (1 + 0.2 * std::abs(i - 17)));
  times[18] = 1.004e-3;
  const std::size_t samples = run(*searcher, times);
  EXPECT_EQ(searcher->best(), 17u);
  EXPECT_LT(samples, 100u);
  const auto& findings = searcher->findings();
  EXPECT_EQ(findings[17].left, Left::end);
  EXPECT_EQ(findings[18].left, Left::end);  // not to be told apart: a tie
  EXPECT_GT(findings[17].samples.size(), 6u);
  EXPECT_EQ(findings[0].left, Left::slower);
  EXPECT_EQ(findings[0].samples.size(), 1u);
  EXPECT_EQ(findings[0].rounds, 1);
  EXPECT_FALSE(findings[0].crowded_out);
  ASSERT_TRUE(findings[0].own && findings[0].best);
  EXPECT_TRUE(is_clear_of(*findings[0].own, *findings[0].best, 0.03));
}

TEST(Race, ManyThatAreAlikeAreCrowdedOut) {
  const auto searcher = make_searcher(Strategy::guided, line(200), looking_at(200));
  run(*searcher, std::vector<double>(200, 1e-3));
  std::size_t stayed = 0, crowded = 0;
  for (const Finding& finding : searcher->findings()) {
    stayed += finding.left == Left::end ? 1 : 0;
    crowded += finding.crowded_out ? 1 : 0;
  }
  EXPECT_EQ(stayed, 4u);
  EXPECT_EQ(crowded, 196u);
}

TEST(Exhaustive, SamplesWhatIsClearlySlowerThanTheBestNoFurther) {
  std::vector<double> times;
  for (int i = 0; i < 40; ++i) times.push_back(1e-3 * (1 + 0.1 * i));
  SearchOptions options;
  options.timing.min_samples = 10;
  options.timing.max_noise = 0.01;
  const auto all = make_searcher(Strategy::exhaustive, line(40), options);
  EXPECT_EQ(run(*all, times, {39}), 390u);
  EXPECT_EQ(all->findings()[38].left, Left::end);
  options.clearly_slower = 0.5;
  const auto searcher = make_searcher(Strategy::exhaustive, line(40), options);
  const std::size_t samples = run(*searcher, times, {39});
  EXPECT_EQ(searcher->best(), 0u);
  const auto& findings = searcher->findings();
  std::size_t few = 0;
  for (std::size_t i = 0; i < 39; ++i) {
    EXPECT_GE(findings[i].samples.size(), 3u) << i;
    if (findings[i].left != Left::slower) {
      EXPECT_GE(findings[i].samples.size(), 13u) << i;
      continue;
    }
    ++few;
    EXPECT_GT(i, 5u);
    EXPECT_EQ(findings[i].rounds, 1) << i;
    EXPECT_EQ(findings[i].samples.size(), 3u) << i;
  }
  EXPECT_GE(few, 20u);
  EXPECT_LT(samples, 300u);
  EXPECT_EQ(findings[39].left, Left::failed);
}

TEST(AllStrategies, FailuresNeverWinAndEverybodyIsAccountedFor) {
  std::vector<double> times(30, 2e-3);
  times[3] = 1e-4;  // fast and wrong
  times[4] = 1.5e-3;
  for (const Strategy strategy : {Strategy::guided, Strategy::exhaustive}) {
    const auto searcher = make_searcher(strategy, line(30), looking_at(30));
    run(*searcher, times, {3});
    EXPECT_EQ(searcher->best(), 4u) << name(strategy);
    EXPECT_EQ(searcher->findings()[3].left, Left::failed) << name(strategy);
    for (const Finding& finding : searcher->findings())
      EXPECT_NE(finding.left, Left::searched) << name(strategy);
  }
}

TEST(AllStrategies, WithoutOneThatIsRightThereIsNoBest) {
  for (const Strategy strategy : {Strategy::guided, Strategy::exhaustive}) {
    const auto searcher = make_searcher(strategy, line(3), {});
    run(*searcher, {1, 1, 1}, {0, 1, 2});
    EXPECT_FALSE(searcher->best()) << name(strategy);
    const auto none = make_searcher(strategy, {}, {});
    EXPECT_TRUE(none->next().asks.empty()) << name(strategy);
  }
}

TEST(AllStrategies, AWinnerThatTurnsOutWrongGivesWayToTheNext) {
  const auto searcher = make_searcher(Strategy::guided, line(3), {});
  run(*searcher, {1e-3, 2e-3, 3e-3});
  EXPECT_EQ(searcher->best(), 0u);
  searcher->fail(0);
  EXPECT_EQ(searcher->best(), 1u);
  EXPECT_EQ(searcher->findings()[0].left, Left::failed);
}

TEST(Traffic, WhatMovesTooMuchIsLeftOutAndOnlyThat) {
  auto candidates = line(4);
  candidates[1].model_bytes = 2e9;
  candidates[2].model_bytes = 9e9;
  candidates[3].model_bytes = 9e9;
  SearchOptions options;
  options.copy_bytes_per_second = 4e12;
  options.last_level_cache = 6e7;
  // At 4 TB/s: 0.25, 0.5 and 2.25 ms; less by the margin that reading alone may gain.
  const auto searcher = make_searcher(Strategy::guided, candidates, options);
  run(*searcher, {1e-3, 0.9e-3, 1e-9, 1e-9});
  EXPECT_EQ(searcher->best(), 1u);
  EXPECT_EQ(searcher->findings()[2].left, Left::traffic);
  EXPECT_TRUE(searcher->findings()[2].samples.empty());
  ASSERT_TRUE(searcher->findings()[2].best);
  for (double SearchOptions::*unknown :
       {&SearchOptions::copy_bytes_per_second, &SearchOptions::last_level_cache}) {
    SearchOptions without = options;
    without.*unknown = 0;
    const auto all = make_searcher(Strategy::guided, candidates, without);
    run(*all, {1e-3, 0.9e-3, 5e-3, 5e-3});
    EXPECT_EQ(all->findings()[2].left, Left::slower);
  }
  options.last_level_cache = 1e10;  // it may all lie in the cache
  const auto cached = make_searcher(Strategy::guided, candidates, options);
  run(*cached, {1e-3, 0.9e-3, 5e-3, 5e-3});
  EXPECT_EQ(cached->findings()[2].left, Left::slower);
}

TEST(Turns, AllTakePartInEachRoundInAnOrderThatChanges) {
  std::mt19937_64 random(1);
  const Batch batch{true, {{0, 8}, {1, 8}, {2, 3}}};
  const auto turns = turns_of(batch, random);
  ASSERT_EQ(turns.size(), 5u);
  std::vector<int> kept(3);
  for (const Turn& turn : turns) {
    EXPECT_EQ(turn.discarded, 1);
    EXPECT_LE(turn.kept, 4);
    kept[turn.candidate] += turn.kept;
  }
  EXPECT_EQ(kept, (std::vector<int>{8, 8, 3}));
  EXPECT_EQ((std::set{turns[0].candidate, turns[1].candidate, turns[2].candidate}.size()), 3u);
  std::set<std::size_t> first;
  for (int i = 0; i < 20; ++i) first.insert(turns_of(batch, random).front().candidate);
  EXPECT_EQ(first.size(), 3u);
}

TEST(StopConditions, SecondsKeepATenthForTheRace) {
  Budget budget;
  budget.seconds = 10;
  const auto conditions = stop_conditions(budget);
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(conditions[0]->state({8.9, 1000}), BudgetState::left);
  EXPECT_EQ(conditions[0]->state({9.1, 0}), BudgetState::running_out);
  EXPECT_EQ(conditions[0]->state({10, 0}), BudgetState::over);
  EXPECT_EQ(conditions[0]->state({std::nan(""), 0}), BudgetState::over);
  EXPECT_EQ(conditions[0]->text(), "the budget of 10 s is used up");
  EXPECT_TRUE(stop_conditions({}).empty());
}

TEST(GuidedBudget, IsWhatIsAskedForAndElseTwentySecondsAndFortyCandidates) {
  EXPECT_EQ(guided_budget({}, false).seconds, 20);
  EXPECT_EQ(guided_budget({}, false).candidates, 40u);
  EXPECT_EQ(guided_budget({}, true).seconds, std::nullopt);
  EXPECT_EQ(guided_budget({}, true).candidates, 40u);
  const Budget long_one = guided_budget({600.0, {}}, false);  // as many as there is time for
  EXPECT_EQ(long_one.seconds, 600);
  EXPECT_EQ(long_one.candidates, std::nullopt);
  const Budget wide = guided_budget({{}, 100}, false);
  EXPECT_EQ(wide.seconds, 20);
  EXPECT_EQ(wide.candidates, 100u);
}

TEST(StopConditions, SkippedCandidatesAreStoppedAndTheSearchSaysWhy) {
  const auto searcher = make_searcher(Strategy::guided, line(5), {});
  Budget budget;
  budget.candidates = 2;
  Search search(*searcher, budget, [] { return 0.0; });
  for (const std::size_t candidate : {0u, 1u}) {
    EXPECT_EQ(search.room(), 2 - candidate);
    EXPECT_TRUE(search.admits(candidate));
    search.trying(candidate);
  }
  EXPECT_EQ(search.room(), 0u);
  EXPECT_TRUE(search.admits(0));  // tried before
  EXPECT_FALSE(search.admits(2));
  EXPECT_EQ(searcher->findings()[2].left, Left::stopped);
  EXPECT_EQ(search.stop_text(), "the budget of 2 candidates is used up");
  EXPECT_FALSE(search.is_over());
  search.interrupt();
  EXPECT_TRUE(search.is_over());
}

}  // namespace
}  // namespace gla_bench::search
