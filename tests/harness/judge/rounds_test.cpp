#include "harness/judge/rounds.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "harness/duel/slowed.hpp"
#include "tests/support/toy.hpp"
#include "tests/support/toy_backend.hpp"

namespace gla_bench {
namespace {

// Takes samples of a program that needs `seconds`, the first of each turn ten times that; writes
// down who was asked.
TakeSamples program(double seconds, char letter, std::string& asked, double noise = 0) {
  return [=, &asked, random = std::mt19937_64(7)](int samples) mutable {
    asked += letter;
    std::uniform_real_distribution<double> uniform(1 - noise, 1 + noise);
    std::vector<double> taken;
    for (int i = 0; i < samples; ++i)
      taken.push_back((i == 0 ? 10 : 1) * seconds * uniform(random));
    return taken;
  };
}

TEST(Rounds, TakeTurnsAndDropTheFirstSampleOfEach) {
  std::string asked;
  Against against;
  RoundPolicy any_wall_time;
  any_wall_time.most_turn_seconds = 1e9;
  take_rounds(program(1e-3, 'b', asked), program(1.03e-3, 'n', asked), any_wall_time, against);
  EXPECT_EQ(against.samples, 2);
  EXPECT_EQ(against.stopped_because, "precision");
  ASSERT_EQ(against.first.size(), 20U);
  ASSERT_EQ(against.base_ms.size(), 40U);
  for (const double time : against.base_ms) EXPECT_NEAR(time, 1, 1e-12);
  for (const double time : against.new_ms) EXPECT_NEAR(time, 1.03, 1e-12);
  ASSERT_EQ(asked.substr(0, 2), "bn");  // the pilots
  for (std::size_t round = 0; round < against.first.size(); ++round)
    EXPECT_EQ(asked.substr(2 + 2 * round, 2), against.first[round] == 'b' ? "bn" : "nb");
  EXPECT_NE(against.first.find("b"), std::string::npos);
  EXPECT_NE(against.first.find("n"), std::string::npos);
}

TEST(Rounds, GoOnWhileTheRatioIsNotKnownWellEnough) {
  std::string asked;
  Against noisy;
  RoundPolicy policy;
  policy.max_seconds = 1e9;
  take_rounds(program(1e-3, 'b', asked, 0.2), program(1e-3, 'n', asked, 0.3), policy, noisy);
  EXPECT_GT(noisy.first.size(), policy.least);
  policy.most = 30;
  Against stopped;
  take_rounds(program(1e-3, 'b', asked, 0.2), program(1e-3, 'n', asked, 0.3), policy, stopped);
  EXPECT_EQ(stopped.stopped_because, "rounds");
  EXPECT_EQ(stopped.first.size(), 30U);
}

TEST(Rounds, TimeEndsThemOnlyBehindTheLeast) {
  Against against;
  against.samples = 1;
  for (int round = 0; round < 19; ++round) {
    against.first += 'b';
    against.base_ms.push_back(1);
    against.new_ms.push_back(round % 2 == 0 ? 1 : 2);
  }
  EXPECT_EQ(enough_rounds(against, 1e9, {}), "");
  against.first += 'n';
  against.base_ms.push_back(1);
  against.new_ms.push_back(1);
  EXPECT_EQ(enough_rounds(against, 1e9, {}), "time");
  EXPECT_EQ(enough_rounds(against, 0, {}), "");
}

TEST(Rounds, ATurnIsLongEnoughToMean) {
  EXPECT_EQ(samples_of_turn(1e-6, 0, {}), 10);
  EXPECT_EQ(samples_of_turn(0.9e-3, 1e-3, {}), 3);
  EXPECT_EQ(samples_of_turn(5, 5, {}), 1);
  EXPECT_EQ(samples_of_turn(0, 0, {}), 10);
  EXPECT_EQ(samples_of_turn(1e-6, 5e-3, {}), 4);
  EXPECT_EQ(samples_of_turn(1e-6, 0.1, {}), 1);
}

TEST(Rounds, AFaultEndsThem) {
  Against against;
  const TakeSamples fails = [](int) -> std::vector<double> { throw std::runtime_error("gone"); };
  std::string asked;
  EXPECT_THROW(take_rounds(program(1, 'b', asked), fails, {}, against), std::runtime_error);
}

TEST(Slowed, LengthensTimesAndLeavesResults) {
  toy::Script script;
  const auto backend = slowed(std::make_unique<toy::ToyBackend>(BackendId::host, script), 0.03);
  const Operator op = toy::make_operator();
  const auto variants = toy::make_variants();
  const Problem problem = toy::problem();
  const auto workset = backend->stage(op, problem, toy::draw(problem));
  workset->poison_outputs();
  const auto plan = backend->build({&variants.front(), problem, {}});
  plan->prepare(*workset);
  EXPECT_NEAR(plan->sample(CacheState::cold, 1), 1.03e-3, 1e-12);
  EXPECT_EQ(workset->download_outputs().at("o")[0], 2 * toy::draw(problem).at("q")[0]);
}

}  // namespace
}  // namespace gla_bench
