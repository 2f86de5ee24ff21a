#include "harness/cost_model/regret.hpp"

#include <gtest/gtest.h>

#include "tests/harness/cost_model/times.hpp"

namespace gla_bench::cost_model {
namespace {

/// Candidates of one problem that take 1, 2, 3, ... s, of which the one at `chosen` is predicted to
/// be the fastest.
void add_problem(std::vector<Example>& examples, const Problem& problem, std::size_t candidates,
                 std::size_t chosen) {
  const Variant* variant = find_variant("gla", "chunk_fused", BackendId::cuda, problem.direction);
  const auto tiles = all_tiles(variant->space);
  for (std::size_t i = 0; i < candidates; ++i) {
    Example one;
    one.candidate = {variant, problem, tiles.at(i)};
    one.device = "NVIDIA H200";
    one.seconds = static_cast<double>(i + 1);
    one.predicted = i == chosen ? 1 : 2;
    examples.push_back(one);
  }
}

TEST(Regret, IsThatOfTheFirstByRank) {
  std::vector<Example> examples;
  add_problem(examples, made_up_problem(1, 512, 4), least_candidates, 2);
  add_problem(examples, made_up_problem(1, 1024, 4), least_candidates - 1, 1);  // too few
  auto choices = choices_among(examples);
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices.front().candidates, least_candidates);
  EXPECT_DOUBLE_EQ(choices.front().regret(), 2);  // 3 s, where 1 s was to be had
  examples[2].score = -6;                         // ranks behind those that are predicted at 2
  EXPECT_DOUBLE_EQ(choices_among(examples).front().regret(), 0);
}

TEST(Regret, OfTwoDevicesIsOfTwoProblems) {
  std::vector<Example> examples;
  add_problem(examples, made_up_problem(1, 512, 4), least_candidates, 0);
  add_problem(examples, made_up_problem(1, 512, 4), least_candidates, 1);
  for (std::size_t i = least_candidates; i < examples.size(); ++i) examples[i].device = "another";
  const Regret regret = regret_of(choices_among(examples));
  EXPECT_EQ(regret.problems, 2u);
  EXPECT_DOUBLE_EQ(regret.worst, 1);
}

TEST(Regret, ReportHasKindsAndTheWorstProblems) {
  std::vector<Example> examples;
  for (std::size_t i = 0; i < 9; ++i)
    add_problem(examples, made_up_problem(1, static_cast<std::int64_t>(1000 + i), 4),
                least_candidates, i % 3);
  Problem backward = made_up_problem(1, 2000, 4);
  backward.direction = Direction::backward;
  add_problem(examples, backward, least_candidates, 4);
  add_problem(examples, made_up_problem(1, 3000, 4), least_candidates, 0);
  const std::string report = regret_report(choices_among(examples), true);
  EXPECT_NE(report.find("| gla | forward | 10 | 100 % | 200 % | 200 % |"), std::string::npos)
      << report;
  EXPECT_NE(report.find("| gla | backward | 1 | 400 % | 400 % | 400 % |"), std::string::npos)
      << report;
  // Ten of eleven problems, the worst first; the last in their order is left out.
  EXPECT_LT(report.find("T=2000"), report.find("T=1002"));
  EXPECT_NE(report.find("T=1000"), std::string::npos) << report;
  EXPECT_EQ(report.find("T=3000"), std::string::npos) << report;
}

TEST(Regret, QuantileIsAnObservedValue) {
  EXPECT_EQ(quantile_of({}, 0.5), 0);
  EXPECT_EQ(quantile_of({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(quantile_of({3, 1, 2}, 1), 3);
}

}  // namespace
}  // namespace gla_bench::cost_model
