#include "harness/judge/drift.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "harness/judge/comparison.hpp"
#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {
namespace {

double drift_of(const std::vector<double>& moved, std::size_t judged = 1, double rates = 0) {
  return drift_between(moved, judged, rates).most;
}

TEST(Drift, IsAssumedOnlyWhereNoRowShowsIt) {
  EXPECT_EQ(drift_of({}), 0.03);
  EXPECT_EQ(drift_of({}, 5, 0.2), 0.2);
  EXPECT_EQ(drift_between({}, 1, 0).evidence, "assumed: no row of unchanged sources shows it");
}

TEST(Drift, OfFewRowsIsMoreThanTheFarthestOfThem) {
  EXPECT_NEAR(drift_of({0.35}), 0.35 * std::sqrt(10.0), 1e-12);
  EXPECT_NEAR(drift_of({0.1, 0.35, 0.2}), 0.35 * std::sqrt(5.0), 1e-12);
  EXPECT_NEAR(drift_of(std::vector<double>(19, 0.1)), 0.1, 1e-12);
  EXPECT_EQ(drift_of(std::vector<double>(19, 0.001)), 0.03) << "they may have missed some";
  EXPECT_EQ(drift_of({0.001}, 1, 0.5), 0.5);
  EXPECT_NEAR(drift_of({0.1, 0.35, 0.2}, 4), 0.35 * std::sqrt(20.0), 1e-12)
      << "four rows are likelier than one to lie far out";
  EXPECT_EQ(
      drift_between(std::vector{0.1, 0.35, 0.2}, 1, 0).evidence,
      "3 rows of unchanged sources moved by up to 35 %, taken 2.2 times because they are few");
}

TEST(Drift, OfManyRowsIsWhatNearlyAllOfThemMoved) {
  std::vector<double> moved;
  for (int i = 1; i <= 100; ++i) moved.push_back(0.001 * i);
  EXPECT_NEAR(drift_of(moved), quantile(moved, 0.95), 1e-12);
  EXPECT_NEAR(drift_of(moved, 5), quantile(moved, 0.99), 1e-12);
  EXPECT_GT(drift_of(moved, 6), 0.1) << "they are few for six rows";
  EXPECT_EQ(drift_of(std::vector<double>(20, 0.002)), 0.002);
}

TEST(Drift, ApartIsTheSameEitherWay) {
  EXPECT_NEAR(apart(1, 1.1), 0.1, 1e-12);
  EXPECT_NEAR(apart(1.1, 1), 0.1, 1e-12);
  EXPECT_EQ(apart(0, 1), 0);
  EXPECT_EQ(apart(std::numeric_limits<double>::quiet_NaN(), 1), 0);
}

// A machine with other work on it. Numbers are drawn here and not by the distributions of the
// library, which differ between libraries.
class Machine {
 public:
  /// `shift`: what a run may be slower or faster by as a whole. `hiccups`: the scale of what a row
  /// may be besides, with a heavy tail. `noise`: of a sample.
  Machine(std::uint64_t seed, double shift, double hiccups, double noise)
      : random_(seed), shift_(shift), hiccups_(hiccups), noise_(noise) {}

  /// The results of one run: a row for each time, whose sources are `hashes`.
  Results run(const std::vector<double>& times_ms, const std::vector<std::string>& hashes) {
    Results results;
    results.file = "run.json";
    results.environment = {{"device", "toy"}};
    const double whole = std::exp((2 * uniform() - 1) * std::log1p(shift_));
    for (std::size_t i = 0; i < times_ms.size(); ++i) {
      // Student's t of two degrees of freedom: its tail falls with the square.
      const double far = normal() / std::sqrt(-std::log(uniform()));
      results.records.push_back(
          row(i + 1, times_ms[i] * whole * std::exp(hiccups_ * far), hashes[i]));
    }
    return results;
  }

 private:
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
  }

  Record row(std::uint64_t seed, double ms, const std::string& hash) {
    Record record;
    record.problem.op = "gla";
    record.problem.seed = seed;
    record.variant = "chunk";
    record.status = Status::measured;
    record.source_hash = hash;
    record.verification = Verification{};
    record.verification->ok = true;
    record.timing = Timing{};
    auto& samples = record.timing->cold.samples_ms;
    for (int i = 0; i < 20; ++i) samples.push_back(ms * std::exp(noise_ * std::abs(normal())));
    record.timing->cold.median_ms = median(samples);
    return record;
  }

  std::mt19937_64 random_;
  double shift_, hiccups_, noise_;
};

std::size_t count(const Comparison& comparison, const std::string& verdict) {
  return static_cast<std::size_t>(
      std::count_if(comparison.rows.begin(), comparison.rows.end(),
                    [&](const ComparedRow& row) { return row.verdict == verdict; }));
}

constexpr int pairs = 20;
const std::vector<double> twelve{0.1, 0.2, 0.3, 0.5, 0.7, 1, 2, 3, 5, 7, 10, 20};

std::vector<std::string> hashes(std::size_t changed, const std::string& of_changed) {
  std::vector<std::string> list(twelve.size(), "same");
  std::fill_n(list.begin(), changed, of_changed);
  return list;
}

TEST(UnpairedRuns, OfOneProgramOnANoisyMachineAreNeverSlower) {
  for (std::uint64_t seed = 1; seed <= pairs; ++seed) {
    Machine machine(seed, 0.35, 0.03, 0.05);
    const Results base = machine.run(twelve, hashes(0, "")),
                  fresh = machine.run(twelve, hashes(0, ""));
    for (const Comparison& comparison :
         {compare_files(base, fresh, {}), compare_files(fresh, base, {})}) {
      EXPECT_EQ(count(comparison, "slower") + count(comparison, "faster"), 0U) << "seed " << seed;
      EXPECT_NE(outcome_of(comparison), Outcome::regression) << "seed " << seed;
    }
  }
}

// Other sources of the same speed: what the machine does is taken for a slowdown in one of 20
// comparisons at most.
TEST(UnpairedRuns, OfChangedSourcesAreNotSlowerByTheMachinesDrift) {
  for (const std::size_t changed : {std::size_t{1}, std::size_t{4}}) {
    int alarms = 0;
    for (std::uint64_t seed = 1; seed <= pairs; ++seed) {
      Machine machine(100 * changed + seed, 0.35, 0.03, 0.05);
      const Comparison comparison = compare_files(machine.run(twelve, hashes(changed, "old")),
                                                  machine.run(twelve, hashes(changed, "new")), {});
      alarms += count(comparison, "slower") > 0 ? 1 : 0;
    }
    EXPECT_LE(alarms, 1) << changed << " changed";
  }
}

TEST(UnpairedRuns, ShowARealSlowdownWhereTheNoiseAllowsIt) {
  const auto found = [](double factor, double shift, double hiccups, double noise) {
    int pairs_found = 0;
    for (std::uint64_t seed = 1; seed <= pairs; ++seed) {
      Machine machine(seed, shift, hiccups, noise);
      std::vector<double> slower = twelve;
      slower[0] *= factor;
      const Comparison comparison = compare_files(machine.run(twelve, hashes(1, "old")),
                                                  machine.run(slower, hashes(1, "new")), {});
      EXPECT_LE(count(comparison, "slower"), 1U);
      pairs_found += comparison.rows[0].verdict == "slower" ? 1 : 0;
    }
    return pairs_found;
  };
  EXPECT_EQ(found(1.1, 0.005, 0.001, 0.01), pairs) << "a quiet machine";
  EXPECT_GE(found(3, 0.35, 0.03, 0.05), 18) << "a noisy one";
}

}  // namespace
}  // namespace gla_bench
