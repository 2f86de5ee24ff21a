#include "harness/judge/comparison.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/judge/calibration.hpp"
#include "harness/judge/comparison_report.hpp"

namespace gla_bench {
namespace {

Verification right(double error = 1e-3) {
  Verification verification;
  verification.ok = true;
  verification.tensors["o"] = {error, 2 * error, error, 4e-3, 16e-3, 0.1, 1e-3, {}, true};
  return verification;
}

// Times alternate round `ms` by half a percent.
std::vector<double> times(double ms, std::size_t count = 20) {
  std::vector<double> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(ms * (i % 2 == 0 ? 0.995 : 1.005));
  return list;
}

Record measured(std::uint64_t seed, double ms, const std::string& hash = "h") {
  Record record;
  record.problem.op = "gla";
  record.problem.seed = seed;
  record.variant = "chunk";
  record.tile = {{"chunk", 64}};
  record.status = Status::measured;
  record.verification = right();
  record.timing = Timing{};
  record.timing->cold.samples_ms = times(ms);
  record.timing->cold.median_ms = ms;
  record.source_hash = hash;
  return record;
}

Record paired(std::uint64_t seed, double base_ms, double new_ms, std::size_t rounds = 20) {
  Record record = measured(seed, new_ms);
  Against against;
  against.status = Status::verified;
  against.source_hash = record.source_hash;
  against.verification = right();
  against.samples = 1;
  against.base_ms = times(base_ms, rounds);
  for (std::size_t i = 0; i < rounds; ++i)
    against.new_ms.push_back(against.base_ms[i] * new_ms / base_ms * (i % 3 == 0 ? 1.002 : 1));
  against.first = std::string(rounds, 'b');
  against.stopped_because = "precision";
  record.against = against;
  return record;
}

Results rounds_file(std::vector<Record> records, const std::string& name = "new.json") {
  Results results;
  results.file = name;
  results.environment = {{"device", "toy"}, {"git_commit", "a"}, {"against_git_commit", "a"}};
  results.records = std::move(records);
  return results;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

const ComparedRow& only(const Comparison& comparison) {
  EXPECT_EQ(comparison.rows.size(), 1U);
  return comparison.rows.at(0);
}

TEST(CompareRounds, JudgesEachRowByItsRounds) {
  const Comparison comparison =
      compare_rounds(rounds_file({paired(1, 1, 1), paired(2, 1, 1.03), paired(3, 1, 0.9)}), {});
  ASSERT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.rows[0].verdict, "same");
  EXPECT_EQ(comparison.rows[1].verdict, "slower");
  EXPECT_EQ(comparison.rows[2].verdict, "faster");
  EXPECT_EQ(outcome_of(comparison), Outcome::regression);
  EXPECT_EQ(comparison_counts(comparison), "1 faster, 1 same, 1 slower");
}

TEST(CompareRounds, NeedsRounds) {
  EXPECT_NE(
      error_of([] { compare_rounds(rounds_file({measured(1, 1)}), {}); }).find("give two files"),
      std::string::npos);
  const Comparison few = compare_rounds(rounds_file({paired(1, 1, 1, 5)}), {});
  EXPECT_EQ(only(few).verdict, "inconclusive");
  EXPECT_EQ(outcome_of(few), Outcome::inconclusive);
}

TEST(CompareRounds, WhatOnlyTheOtherCouldRunIsNotPassed) {
  Record record = paired(1, 1, 1);
  record.status = Status::wrong;
  record.reason = "o: rel_l2";
  record.verification->ok = false;
  EXPECT_EQ(only(compare_rounds(rounds_file({record}), {})).verdict, "wrong");
  EXPECT_EQ(outcome_of(compare_rounds(rounds_file({record}), {})), Outcome::wrong);
  record = paired(1, 1, 1);
  record.against->status = Status::crashed;
  EXPECT_EQ(only(compare_rounds(rounds_file({record}), {})).verdict, "mended");
}

TEST(CompareFiles, WithoutControlsSmallChangesAreInconclusive) {
  const Results base = rounds_file({measured(1, 1, "old")}, "base.json");
  EXPECT_EQ(only(compare_files(base, rounds_file({measured(1, 1.03)}), {})).verdict,
            "inconclusive");
  EXPECT_EQ(only(compare_files(base, rounds_file({measured(1, 1)}), {})).verdict, "inconclusive");
  EXPECT_EQ(only(compare_files(base, rounds_file({measured(1, 1.2)}), {})).verdict, "slower");
  EXPECT_EQ(only(compare_files(base, rounds_file({measured(1, 0.8)}), {})).verdict, "faster");
}

TEST(CompareFiles, RowsOfUnchangedSourcesShowTheDrift) {
  std::vector<Record> before{measured(99, 1, "old")}, now{measured(99, 1.04, "new")};
  for (std::uint64_t seed = 1; seed <= least_controls; ++seed) {
    before.push_back(measured(seed, 1));
    now.push_back(measured(seed, 1.002));
  }
  Comparison comparison = compare_files(rounds_file(before, "base.json"), rounds_file(now), {});
  EXPECT_NEAR(comparison.drift, 0.002, 1e-9);
  EXPECT_EQ(comparison.rows[0].verdict, "slower");
  EXPECT_EQ(comparison.rows[1].verdict, "same");
  for (Record& record : now)  // the whole machine is slower: nobody is to blame
    record = measured(record.problem.seed, 1.04, record.source_hash);
  comparison = compare_files(rounds_file(before, "base.json"), rounds_file(now), {});
  for (const ComparedRow& row : comparison.rows) EXPECT_EQ(row.verdict, "inconclusive");
}

/// 30 rows of unchanged sources, and one of others with these sustained times.
Outcome with_sustained(double before, double now) {
  std::vector<Record> base, fresh;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    base.push_back(measured(seed, 1));
    fresh.push_back(measured(seed, 1));
  }
  base.push_back(measured(99, 1));
  fresh.push_back(measured(99, 1, "other"));
  const auto series = [](double ms) {
    Series list;
    list.samples_ms = times(ms);
    list.median_ms = ms;
    return list;
  };
  base.back().timing->sustained = series(before);
  fresh.back().timing->sustained = series(now);
  const Comparison comparison = compare_files(rounds_file(base, "base.json"), rounds_file(fresh), {});
  const ComparedRow& row = comparison.rows.back();
  EXPECT_EQ(row.sustained.has_value(), true);
  EXPECT_EQ(row.verdict, row.outcome == Outcome::regression ? "slower" : "same") << row.why;
  return row.outcome;
}

TEST(CompareFiles, ASlowerSustainedTimeIsARegressionWhateverTheColdOneSays) {
  EXPECT_EQ(with_sustained(1.2, 1.2), Outcome::passed);
  EXPECT_EQ(with_sustained(1.2, 1.1), Outcome::passed);
  EXPECT_EQ(with_sustained(1.2, 1.4), Outcome::regression);
}

TEST(CompareFiles, AnotherClockIsADrift) {
  Record before = measured(1, 1), now = measured(1, 1.1);
  before.timing->clock_mhz_before = before.timing->clock_mhz_after = 1980;
  now.timing->clock_mhz_before = 1980;
  now.timing->clock_mhz_after = 1755;
  const Comparison comparison =
      compare_files(rounds_file({before}, "base.json"), rounds_file({now}), {});
  EXPECT_EQ(only(comparison).verdict, "inconclusive");
  ASSERT_EQ(only(comparison).labels.size(), 1U);
  EXPECT_NE(only(comparison).labels[0].find("1755"), std::string::npos);
}

struct Standing {
  std::string verdict;
  Outcome outcome;
  std::function<void(std::vector<Record>& base, std::vector<Record>& fresh)> change;
};

void PrintTo(const Standing& standing, std::ostream* out) {
  *out << standing.verdict;
}

class Standings : public testing::TestWithParam<Standing> {};

TEST_P(Standings, AreListedAndJudged) {
  std::vector<Record> base{measured(1, 1)}, fresh{measured(1, 1)};
  GetParam().change(base, fresh);
  const Comparison comparison =
      compare_files(rounds_file(base, "base.json"), rounds_file(fresh), {});
  EXPECT_EQ(only(comparison).verdict, GetParam().verdict);
  EXPECT_EQ(only(comparison).outcome, GetParam().outcome);
}

using Records = std::vector<Record>;

INSTANTIATE_TEST_SUITE_P(
    Each, Standings,
    testing::Values(
        Standing{"wrong", Outcome::wrong,
                 [](Records&, Records& fresh) { fresh[0].status = Status::wrong; }},
        Standing{"wrong", Outcome::wrong,
                 [](Records&, Records& fresh) { fresh[0].verification->ok = false; }},
        Standing{"crashed", Outcome::wrong,
                 [](Records& base, Records& fresh) {
                   base[0].status = fresh[0].status = Status::crashed;
                 }},
        Standing{"timeout", Outcome::wrong,
                 [](Records&, Records& fresh) { fresh[0].status = Status::timeout; }},
        Standing{"build_failed", Outcome::wrong,
                 [](Records&, Records& fresh) { fresh[0].status = Status::build_failed; }},
        Standing{"wrong", Outcome::wrong,
                 [](Records& base, Records& fresh) {
                   base.clear();
                   fresh[0].status = Status::wrong;
                 }},
        Standing{"missing", Outcome::regression, [](Records&, Records& fresh) { fresh.clear(); }},
        Standing{"missing", Outcome::regression,
                 [](Records&, Records& fresh) { fresh[0].status = Status::rejected; }},
        Standing{"gone", Outcome::passed,
                 [](Records& base, Records& fresh) {
                   base[0].status = Status::wrong;
                   fresh.clear();
                 }},
        Standing{"not run", Outcome::inconclusive,
                 [](Records&, Records& fresh) { fresh[0].status = Status::built; }},
        Standing{"not measured", Outcome::inconclusive,
                 [](Records&, Records& fresh) {
                   fresh[0].status = Status::verified;
                   fresh[0].timing.reset();
                 }},
        Standing{"new", Outcome::passed, [](Records& base, Records&) { base.clear(); }},
        Standing{"mended", Outcome::passed,
                 [](Records& base, Records&) { base[0].status = Status::run_failed; }},
        Standing{"verified", Outcome::passed, [](Records& base, Records& fresh) {
                   for (Record* record : {&base[0], &fresh[0]}) {
                     record->status = Status::verified;
                     record->timing.reset();
                   }
                 }}));

TEST(CompareFiles, NothingComparedIsNoPass) {
  EXPECT_EQ(outcome_of(compare_files(rounds_file({}), rounds_file({}), {})), Outcome::inconclusive);
}

TEST(CompareFiles, RefusesOtherDevicesAndRowsThatStandTwice) {
  Results base = rounds_file({measured(1, 1)}, "base.json"), fresh = rounds_file({measured(1, 1)});
  fresh.environment["device"] = std::string("other");
  EXPECT_NE(error_of([&] { compare_files(base, fresh, {}); }).find("device: toy before, other now"),
            std::string::npos);
  ComparisonPolicy policy;
  policy.allowed = {"device"};
  EXPECT_EQ(error_of([&] { compare_files(base, fresh, policy); }), "no error");
  base.records.push_back(base.records[0]);
  EXPECT_NE(error_of([&] { compare_files(base, base, {}); }).find("stands there twice"),
            std::string::npos);
}

TEST(CompareFiles, LessAccurateFailsInsideTheTolerance) {
  std::vector<Record> base, fresh;
  for (const double error : {1.0e-3, 1.1e-3, 1.2e-3}) {
    base.push_back(measured(base.size() + 1, 1));
    base.back().verification = right(error);
    fresh.push_back(base.back());
  }
  const auto verdict = [&] {
    return compare_files(rounds_file(base, "base.json"), rounds_file(fresh), {}).rows[2].verdict;
  };
  EXPECT_NE(verdict(), "less accurate");
  fresh[2].verification = right(1.39e-3);
  EXPECT_NE(verdict(), "less accurate");
  fresh[2].verification = right(1.41e-3);  // above 1.2 + (1.2 - 1.0), far inside the bound of 4
  EXPECT_EQ(verdict(), "less accurate");
}

TEST(NoiseFloor, IsTheSmallestGate) {
  std::vector<Record> rows;
  for (std::uint64_t seed = 0; seed < 40; ++seed) rows.push_back(paired(seed, 1, 1.004));
  const NoiseFloor floor = noise_floor(rounds_file(rows, "aa.json"), {});
  EXPECT_NEAR(floor.effect, 0.006, 1e-3);
  EXPECT_EQ(floor.rows, 40U);
  EXPECT_EQ(gate_effect(std::nullopt, floor), 0.02);
  EXPECT_EQ(gate_effect(0.01, floor), 0.01);
  EXPECT_EQ(gate_effect(0.001, std::nullopt), 0.001);
  const std::string error = error_of([&] { gate_effect(0.001, floor); });
  EXPECT_NE(error.find("0.1 % is below the noise floor of 0.6"), std::string::npos) << error;
  EXPECT_EQ(gate_effect(std::nullopt, NoiseFloor{"aa.json", 0.03, 40}), 0.03);
}

TEST(NoiseFloor, ComesFromOneProgramAndEnoughRows) {
  std::vector<Record> rows;
  for (std::uint64_t seed = 0; seed < least_calibration_rows; ++seed)
    rows.push_back(paired(seed, 1, 1));
  Results aa = rounds_file(rows, "aa.json");
  EXPECT_EQ(error_of([&] { noise_floor(aa, {}); }), "no error");
  aa.environment["against_git_commit"] = std::string("b");
  EXPECT_NE(error_of([&] { noise_floor(aa, {}); }).find("commit a against b"), std::string::npos);
  aa = rounds_file(rows, "aa.json");
  aa.environment["planted_slowdown_percent"] = 3.0;
  EXPECT_NE(error_of([&] { noise_floor(aa, {}); }).find("made longer"), std::string::npos);
  aa = rounds_file(rows, "aa.json");
  aa.records[3].against->source_hash = "other";
  EXPECT_NE(error_of([&] { noise_floor(aa, {}); }).find("sources of chunk"), std::string::npos);
  rows.pop_back();
  EXPECT_NE(error_of([&] { noise_floor(rounds_file(rows, "aa.json"), {}); }).find("19 rows"),
            std::string::npos);
}

TEST(ComparisonReport, SaysItInEveryForm) {
  const Comparison comparison =
      compare_rounds(rounds_file({paired(1, 1, 1), paired(2, 1, 1.03)}), {});
  const std::string text = comparison_text(comparison, {});
  EXPECT_NE(text.find("slower"), std::string::npos);
  EXPECT_EQ(text.find("seed=1"), std::string::npos) << "what did not change is not listed";
  EXPECT_NE(comparison_text(comparison, {false, true, 0}).find("seed=1"), std::string::npos);
  const std::string markdown = comparison_text(comparison, {true, false, 0});
  EXPECT_NE(markdown.find("### regression: 1 same, 1 slower"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("1 rows without a change"), std::string::npos);
  const Json json = comparison_json(comparison);
  EXPECT_EQ(json["outcome"], "regression");
  EXPECT_EQ(json["rows"][1]["verdict"], "slower");
  EXPECT_NEAR(json["rows"][1]["times"]["ratio"].get<double>(), 1.03, 1e-3);
  const std::string junit = junit_xml(comparison_verdicts(comparison));
  EXPECT_NE(junit.find("failures=\"1\""), std::string::npos) << junit;
  EXPECT_NE(junit.find("slower +3.00 %"), std::string::npos) << junit;
}

}  // namespace
}  // namespace gla_bench
