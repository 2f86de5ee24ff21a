#include "harness/support/statistics/bootstrap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "harness/judge/change.hpp"

namespace gla_bench {
namespace {

// A machine that takes turns between two programs: noise of `cv` per sample, alike from one sample
// to the next by `rho`, getting slower by `drift` in the course of all rounds.
struct Machine {
  double cv = 0.01, rho = 0, drift = 0;
};

class Rounds {
 public:
  Rounds(std::uint64_t seed, const Machine& machine) : random_(seed), machine_(machine) {}

  RatioEstimate measure(std::size_t rounds, std::size_t samples, double truth) {
    std::vector<double> base, fresh;
    const double slots = 2.0 * static_cast<double>(rounds * samples);
    double slot = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
      const bool base_first = (random_() & 1) == 0;
      for (int turn = 0; turn < 2; ++turn)
        for (std::size_t i = 0; i < samples; ++i) {
          const bool is_base = (turn == 0) == base_first;
          const double time = noise() * (1 + machine_.drift * slot++ / slots);
          (is_base ? base : fresh).push_back(is_base ? time : truth * time);
        }
    }
    return paired_ratio(medians_of_rounds(base, samples), medians_of_rounds(fresh, samples));
  }

 private:
  double noise() {
    state_ = machine_.rho * state_ + std::sqrt(1 - machine_.rho * machine_.rho) * normal_(random_);
    return std::exp(machine_.cv * state_);
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  Machine machine_;
  double state_ = 0;
};

bool covers(const RatioEstimate& estimate, double truth) {
  return estimate.low <= truth && truth <= estimate.high;
}

// 95 % intervals over 200 simulated rows: fewer than 90 % would be 3 standard errors off.
TEST(PairedRatio, IntervalsHoldTheTruthAsOftenAsTheyClaim) {
  for (const Machine& machine : {Machine{}, Machine{0.01, 0.6, 0}, Machine{0.01, 0.9, 0.1}})
    for (const double truth : {1.0, 1.03}) {
      Rounds rounds(5, machine);
      int held = 0;
      for (int row = 0; row < 200; ++row) held += covers(rounds.measure(20, 3, truth), truth);
      EXPECT_GE(held, 180) << "rho " << machine.rho << " truth " << truth;
      EXPECT_LT(held, 200) << "an interval that always holds says too little";
    }
}

// The program's own demands: 100 rows against itself are the same in 99, 100 rows that are 3 %
// slower are called so in 95, at the noise of short kernels on an H200 (1.6 % a sample).
TEST(PairedRatio, TellsThreePercentFromNothing) {
  Rounds rounds(3, {0.016, 0.3, 0.05});
  std::vector<RatioEstimate> unchanged, slower;
  std::vector<double> p_unchanged, p_slower;
  for (int row = 0; row < 100; ++row) {
    unchanged.push_back(rounds.measure(30, 5, 1));
    slower.push_back(rounds.measure(30, 5, 1.03));
    p_unchanged.push_back(unchanged.back().p);
    p_slower.push_back(slower.back().p);
  }
  const auto holds_unchanged = holm(p_unchanged, 0.05), holds_slower = holm(p_slower, 0.05);
  int same = 0, called = 0;
  for (std::size_t row = 0; row < 100; ++row) {
    same += judge_change(unchanged[row], {}, holds_unchanged[row]) == Change::same;
    called += judge_change(slower[row], {}, holds_slower[row]) == Change::slower;
  }
  EXPECT_GE(same, 99);
  EXPECT_GE(called, 95);
}

TEST(PairedRatio, IsTheSameEachTime) {
  const std::vector<double> base{1, 1.01, 0.99, 1.02, 1}, fresh{1.1, 1.08, 1.12, 1.1, 1.09};
  const RatioEstimate a = paired_ratio(base, fresh), b = paired_ratio(base, fresh);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_NEAR(a.ratio, 1.09, 1e-12);  // of 1.1, 1.0693, 1.1313, 1.0784, 1.09
  EXPECT_GE(a.low, 1.0693 - 1e-4);
  EXPECT_LE(a.high, 1.1314);
}

TEST(PairedRatio, ADriftThatBothSeeCancels) {
  std::vector<double> base, fresh;
  for (int round = 0; round < 20; ++round) {
    base.push_back(1 + 0.05 * round);
    fresh.push_back(1.03 * base.back());
  }
  const RatioEstimate estimate = paired_ratio(base, fresh);
  EXPECT_NEAR(estimate.low, 1.03, 1e-9);
  EXPECT_NEAR(estimate.high, 1.03, 1e-9);
  EXPECT_NEAR(estimate.p, 2 * std::pow(0.5, 20), 1e-9);
}

TEST(PairedRatio, BadTimesGiveNothing) {
  const std::vector<double> good{1, 2, 3}, zero{1, 0, 3}, nan{1, std::nan(""), 3};
  EXPECT_TRUE(std::isnan(paired_ratio(good, zero).low));
  EXPECT_TRUE(std::isnan(paired_ratio(nan, good).high));
  EXPECT_TRUE(std::isnan(paired_ratio({}, {}).ratio));
  EXPECT_EQ(paired_ratio(good, zero).p, 1);
  EXPECT_THROW(paired_ratio(good, std::vector<double>{1}), std::invalid_argument);
}

TEST(UnpairedRatio, IsWidenedByTheDrift) {
  const std::vector<double> base(20, 1.0), fresh(20, 1.04);
  const RatioEstimate still = unpaired_ratio(base, fresh, 0),
                      wide = unpaired_ratio(base, fresh, 0.03);
  EXPECT_NEAR(still.low, 1.04, 1e-9);
  EXPECT_NEAR(wide.low, 1.04 / 1.03, 1e-9);
  EXPECT_NEAR(wide.high, 1.04 * 1.03, 1e-9);
  EXPECT_EQ(wide.p, 0);
  EXPECT_EQ(unpaired_ratio(base, fresh, 0.05).p, 1);
}

TEST(UnpairedRatio, BlocksKeepAnAutocorrelatedSeriesHonest) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  double state = 0;
  int held = 0;
  for (int row = 0; row < 200; ++row) {
    std::vector<double> series[2];
    for (auto& one : series)
      for (int i = 0; i < 50; ++i) {
        state = 0.6 * state + 0.8 * normal(random);
        one.push_back(std::exp(0.01 * state));
      }
    held += covers(unpaired_ratio(series[0], series[1], 0), 1);
  }
  EXPECT_GE(held, 176);
}

TEST(MeanRatio, IsGeometricAndItsSquaresAdd) {
  const RatioEstimate once{2, 2 / 1.1, 2 * 1.1, 0.5, 10};
  const RatioEstimate same = mean_ratio(std::vector<RatioEstimate>{once}, 0);
  EXPECT_NEAR(same.ratio, 2, 1e-12);
  EXPECT_NEAR(same.low, 2 / 1.1, 1e-12);
  EXPECT_NEAR(same.high, 2 * 1.1, 1e-12);
  const RatioEstimate half{0.5, 0.5 / 1.1, 0.5 * 1.1, 0.5, 7};
  const RatioEstimate both = mean_ratio(std::vector<RatioEstimate>{once, half}, 0.01);
  EXPECT_NEAR(both.ratio, 1, 1e-12);
  EXPECT_NEAR(both.low, std::pow(1.1, -1 / std::sqrt(2)) / 1.01, 1e-12);
  EXPECT_NEAR(both.high, std::pow(1.1, 1 / std::sqrt(2)) * 1.01, 1e-12);
  EXPECT_EQ(both.count, 7u);
  EXPECT_TRUE(std::isnan(mean_ratio({}, 0.01).ratio));
}

TEST(SignTest, HasTheBinomialsTails) {
  EXPECT_NEAR(sign_test(10, 0), 2.0 / 1024, 1e-12);
  EXPECT_NEAR(sign_test(9, 1), 22.0 / 1024, 1e-12);
  EXPECT_NEAR(sign_test(1, 9), 22.0 / 1024, 1e-12);
  EXPECT_EQ(sign_test(5, 5), 1);
  EXPECT_EQ(sign_test(0, 0), 1);
  EXPECT_NEAR(sign_test(20, 0, 0.5), 2.0 / 1024, 1e-12);
}

TEST(Autocorrelation, OfKnownSeries) {
  EXPECT_NEAR(autocorrelation(std::vector<double>{1, -1, 1, -1}), -0.75, 1e-12);
  EXPECT_EQ(autocorrelation(std::vector<double>{2, 2, 2, 2, 2}), 0);
  EXPECT_EQ(block_length(std::vector<double>{1, -1, 1, -1}), 1U);
  std::vector<double> steps(30, 0.0);
  for (std::size_t i = 15; i < 30; ++i) steps[i] = 1;
  EXPECT_EQ(block_length(steps), 10U);
}

TEST(MediansOfRounds, TakesSoManyInARow) {
  EXPECT_EQ(medians_of_rounds(std::vector<double>{3, 1, 2, 6, 5, 4}, 3),
            (std::vector<double>{2, 5}));
  EXPECT_TRUE(medians_of_rounds({}, 0).empty());
  EXPECT_THROW(medians_of_rounds(std::vector<double>{1, 2, 3}, 2), std::invalid_argument);
}

}  // namespace
}  // namespace gla_bench
