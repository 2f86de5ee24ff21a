#include "harness/tuned_table/choose.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "harness/cost_model/learn.hpp"
#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/evaluate.hpp"
#include "tests/harness/cost_model/times.hpp"
#include "tests/harness/tuned_table/records.hpp"
#include "tests/support/sample_record.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

Problem toy_at(std::int64_t seq) {
  Problem problem = toy::problem();
  problem.shape.seq = seq;
  return problem;
}

Record toy_record(std::int64_t seq, const std::string& variant, const Tile& tile, double ms) {
  return timed_record(toy_at(seq), variant, tile, ms);
}

const Tile chunk_16{{"chunk", 16}, {"warps", 1}}, chunk_32{{"chunk", 32}, {"warps", 2}},
    chunk_64{{"chunk", 64}, {"warps", 2}};

/// fast wins at 64 and 4096 tokens, slow at 512.
Results toy_results() {
  return results_of({toy_record(64, "fast", chunk_16, 1), toy_record(64, "slow", {}, 2),
                     toy_record(512, "fast", chunk_16, 2), toy_record(512, "slow", {}, 1),
                     toy_record(4096, "fast", chunk_64, 1), toy_record(4096, "slow", {}, 3)});
}

TEST(Settle, MeasuredWinnersStandAgainstPredictionsThatAreHardlyBetter) {
  const std::vector<double> predicted{1.00, 1.04, 1.10, 5.00};
  EXPECT_EQ(settle(predicted, std::nullopt), 0u);
  EXPECT_EQ(settle(predicted, Remembered{1, 0.5}), 1u);
  EXPECT_EQ(settle(predicted, Remembered{1, near_problem}), 1u);
  EXPECT_EQ(settle(predicted, Remembered{1, 2.1}), 0u);  // too far to know better
  EXPECT_EQ(settle(predicted, Remembered{2, 0.5}), 0u);  // too much slower
  EXPECT_EQ(settle(predicted, Remembered{3, 0}), 3u);    // this very problem was measured
}

TunedTable toy_table() {
  const std::vector<Results> files{toy_results()};
  TunedTable table = build_table(files);
  table.path = "t.json";
  return table;
}

std::string same_sources(const Variant& variant) {
  return "hash of " + variant.name;
}

std::optional<std::string> takes_all(const Candidate&) {
  return std::nullopt;
}

Chooser chooser_of(const TunedTable& table, const Facts& environment = toy_results().environment,
                   const std::set<std::string>& allowed = {}) {
  return {toy::catalog(), BackendId::cuda, table, environment, allowed, same_sources};
}

/// A toy problem's fast variant as it was before its tiles said how many warps.
Results before_the_axis_of_warps() {
  return results_of({toy_record(64, "fast", {{"chunk", 32}}, 1), toy_record(64, "slow", {}, 2)});
}

TEST(Choose, ATileFromBeforeAnAxisHasItsFirstValue) {
  const std::vector<Results> files{before_the_axis_of_warps()};
  const Chooser chooser = chooser_of(build_table(files));
  const Choice choice = chooser.choose(toy_at(64), takes_all);
  ASSERT_TRUE(choice.candidate);
  EXPECT_EQ(choice.candidate->variant->name, "fast");
  EXPECT_EQ(choice.candidate->tile, (Tile{{"chunk", 32}, {"warps", 1}}));
  const Evaluation evaluation = evaluate(files, chooser);
  ASSERT_EQ(evaluation.problems.size(), 1u);
  EXPECT_EQ(evaluation.problems[0].unknown, "");
  EXPECT_EQ(evaluation.problems[0].chosen_ms, 1);
}

TEST(Choose, TheProblemsOwnBucketFirst) {
  const Choice choice = chooser_of(toy_table()).choose(toy_at(500), takes_all);
  ASSERT_TRUE(choice.candidate);
  EXPECT_EQ(choice.candidate->variant->name, "slow");
  EXPECT_EQ(choice.candidate->variant->backend, BackendId::cuda);
  EXPECT_EQ(choice.candidate->problem, toy_at(500));
  EXPECT_EQ(choice.by.how, "bucket");
  EXPECT_EQ(choice.by.table, "t.json");
  EXPECT_EQ(choice.by.entry, "T~512 BH~2 K=4 V=4");
  EXPECT_NEAR(choice.by.distance, 0.034, 1e-3);
  EXPECT_EQ(choice.by.note, "");
}

TEST(Choose, ElseTheNearestWithItsDistance) {
  const Choice choice = chooser_of(toy_table()).choose(toy_at(16384), takes_all);
  ASSERT_TRUE(choice.candidate);
  EXPECT_EQ(choice.candidate->tile, chunk_64);
  EXPECT_EQ(choice.by.how, "nearest");
  EXPECT_EQ(choice.by.distance, 2.0);
  EXPECT_EQ(choice.by.entry, "T~4096 BH~2 K=4 V=4");
}

TEST(Choose, TheOwnBucketBeatsANearerMiddle) {
  // 90 tokens are of the bucket of 64, though with another head dimension nothing is nearer.
  TunedTable table = toy_table();
  const auto order = nearest_entries(table, toy_at(90));
  ASSERT_EQ(order.size(), 3u);
  EXPECT_TRUE(order[0].own);
  EXPECT_EQ(table.entries[order[0].entry].bucket.shape.seq, 64);
}

TEST(Choose, WhatRefusesIsPassedOverByName) {
  const Refusal no_fast = [](const Candidate& candidate) -> std::optional<std::string> {
    if (candidate.variant->name == "fast") return "too fast";
    return std::nullopt;
  };
  const Choice choice = chooser_of(toy_table()).choose(toy_at(4096), no_fast);
  ASSERT_TRUE(choice.candidate);
  EXPECT_EQ(choice.candidate->variant->name, "slow");  // the same entry's other variant
  EXPECT_EQ(choice.by.entry, "T~4096 BH~2 K=4 V=4");
  EXPECT_NE(choice.by.note.find("passed over fast chunk=64,warps=2: too fast"), std::string::npos)
      << choice.by.note;
}

TEST(Choose, WhatIsGoneIsPassedOver) {
  TunedTable table = toy_table();
  for (TunedEntry& entry : table.entries) {
    entry.winner.tile["chunk"] = 48;
    entry.ties.clear();
    entry.others.clear();
    entry.runner_up.reset();
  }
  table.entries[0].winner.variant = "forgotten";
  const Choice choice = chooser_of(table).choose(toy_at(64), takes_all);
  EXPECT_EQ(choice.by.how, "default");
  EXPECT_EQ(choice.by.entry, "");
  EXPECT_NE(choice.by.note.find("passed over forgotten chunk=48,warps=1: there is no such variant"),
            std::string::npos)
      << choice.by.note;
  EXPECT_NE(choice.by.note.find("not in the variant's space"), std::string::npos);
}

TEST(Choose, DefaultIsTheLastVariantThatTakesTheProblem) {
  const Chooser chooser(toy::catalog(), BackendId::cuda, "there is no t.json");
  Choice choice = chooser.choose(toy_at(8), takes_all);
  ASSERT_TRUE(choice.candidate);
  EXPECT_EQ(choice.candidate->variant->name, "device_only");
  EXPECT_EQ(choice.by.how, "default");
  EXPECT_EQ(choice.by.note, "there is no t.json");
  const Refusal only_chunk_64 = [](const Candidate& candidate) -> std::optional<std::string> {
    const auto chunk = candidate.tile.find("chunk");
    if (chunk != candidate.tile.end() && chunk->second == 64) return std::nullopt;
    return "not chunk 64";
  };
  choice = chooser.choose(toy_at(8), only_chunk_64);
  ASSERT_TRUE(choice.candidate);
  EXPECT_EQ(describe(choice.candidate->tile), "chunk=64,warps=1");
  const Refusal none = [](const Candidate&) { return std::optional<std::string>("no"); };
  choice = chooser.choose(toy_at(8), none);
  EXPECT_FALSE(choice.candidate);
  EXPECT_NE(choice.by.note.find("no variant takes the problem"), std::string::npos);
}

TEST(Choose, AnotherDtypeIsADefaultNotAGuess) {
  Problem problem = toy_at(4096);
  problem.dtype = DType::bfloat16;
  const Choice choice = chooser_of(toy_table()).choose(problem, takes_all);
  EXPECT_EQ(choice.by.how, "default");
  EXPECT_EQ(choice.by.table, "t.json");
  EXPECT_EQ(choice.by.note, "the table has no entry of this operator, direction and dtype");
}

TEST(Choose, ChangedSourcesAreToldInTheRecord) {
  const Chooser chooser(toy::catalog(), BackendId::cuda, toy_table(), toy_results().environment, {},
                        [](const Variant&) { return std::string("another"); });
  EXPECT_EQ(chooser.choose(toy_at(64), takes_all).by.note, "stale: its sources have changed since");
}

TEST(Choose, AnotherDeviceIsRefusedAnotherDriverIsTold) {
  Facts environment = toy_results().environment;
  EXPECT_TRUE(chooser_of(toy_table(), environment).warnings().empty());
  environment["driver"] = std::string("581");
  const Chooser labelled = chooser_of(toy_table(), environment);
  ASSERT_EQ(labelled.warnings().size(), 1u);
  EXPECT_NE(labelled.warnings()[0].find(
                "t.json: tuned in another environment: driver: 580 before, 581 now"),
            std::string::npos);
  EXPECT_EQ(labelled.choose(toy_at(64), takes_all).by.how, "bucket");
  environment["multiprocessors"] = 66.0;
  const std::string error = error_of([&] { chooser_of(toy_table(), environment); });
  EXPECT_EQ(error,
            "t.json: is a table for NVIDIA H200, and not for where this runs: multiprocessors: 132 "
            "before, 66 now (another device, or a part of one); `gla-bench tune` makes a table for "
            "here, and --allow multiprocessors takes this one all the same");
  EXPECT_EQ(chooser_of(toy_table(), environment, {"multiprocessors"})
                .choose(toy_at(64), takes_all)
                .by.how,
            "bucket");
}

TEST(Choose, EnvironmentsThatDifferAreToldInOneLine) {
  TunedTable table = toy_table();
  for (const char* driver : {"579", "578"}) {
    table.environments.push_back(table.environments[0]);
    table.environments.back()["driver"] = std::string(driver);
  }
  const Chooser chooser = chooser_of(table, toy_results().environment);
  ASSERT_EQ(chooser.warnings().size(), 1u);
  EXPECT_NE(chooser.warnings()[0].find("driver: 579 before, 580 now"), std::string::npos)
      << chooser.warnings()[0];
  EXPECT_TRUE(chooser.warnings()[0].ends_with("; and in 1 more")) << chooser.warnings()[0];
}

TEST(Choose, AnotherNumberOfThreadsIsTold) {
  TunedTable table = toy_table();
  table.environments[0]["threads"] = 8.0;
  Facts environment = toy_results().environment;
  environment["threads"] = 8.0;
  EXPECT_TRUE(chooser_of(table, environment).warnings().empty());
  EXPECT_EQ(chooser_of(table, environment).choose(toy_at(64), takes_all).by.note, "");
  environment["threads"] = 2.0;
  const Chooser chooser = chooser_of(table, environment);
  ASSERT_EQ(chooser.warnings().size(), 1u);
  EXPECT_NE(
      chooser.warnings()[0].find("t.json: tuned in another environment: threads: 8 before, 2 now"),
      std::string::npos)
      << chooser.warnings()[0];
  const Choice choice = chooser.choose(toy_at(64), takes_all);
  EXPECT_EQ(choice.by.how, "bucket");
  EXPECT_EQ(choice.by.note, "tuned with 8 threads, not 2");
  environment["cores"] = 4.0;
  table.environments[0]["cores"] = 16.0;
  const std::string error = error_of([&] { chooser_of(table, environment); });
  EXPECT_NE(error.find("cores: 16 before, 4 now"), std::string::npos) << error;
  EXPECT_EQ(error.find("threads"), std::string::npos) << "only what is in the way: " << error;
}

TEST(Choose, EntriesOfAnotherPlaceAreLeftOut) {
  TunedTable table = toy_table();
  table.environments.push_back(table.environments[0]);
  table.environments[1]["power_limit_watts"] = 350.0;
  table.environments[0]["power_limit_watts"] = 700.0;
  table.entries[0].environment = 1;  // of 64 tokens
  Facts environment = toy_results().environment;
  environment["power_limit_watts"] = 700.0;
  const Chooser chooser = chooser_of(table, environment);
  ASSERT_EQ(chooser.warnings().size(), 1u);
  EXPECT_NE(chooser.warnings()[0].find("entries are left out: power_limit_watts"),
            std::string::npos);
  EXPECT_EQ(chooser.choose(toy_at(64), takes_all).by.entry, "T~512 BH~2 K=4 V=4");
}

TEST(Evaluate, RegretIsTheChoiceOverTheBest) {
  const std::vector<Results> others{
      results_of({toy_record(64, "fast", chunk_16, 1), toy_record(64, "slow", {}, 2),  // was tuned
                  toy_record(60, "fast", chunk_16, 1.1), toy_record(60, "slow", {}, 1.0),
                  toy_record(600, "fast", chunk_32, 1), toy_record(600, "slow", {}, 1),
                  toy_record(9000, "fast", chunk_64, 1.5), toy_record(9000, "fast", chunk_32, 1.2),
                  toy_record(5000, "slow", {}, 1)})};
  const Evaluation evaluation = evaluate(others, chooser_of(toy_table()));
  ASSERT_EQ(evaluation.problems.size(), 5u);
  EXPECT_TRUE(evaluation.problems[0].tuned);
  EXPECT_EQ(evaluation.tuned, 1u);
  EXPECT_EQ(evaluation.judged, 3u);
  EXPECT_NEAR(*evaluation.problems[1].regret, 0.1, 1e-9);
  EXPECT_NEAR(*evaluation.problems[2].regret, 0.0, 1e-9);
  EXPECT_NEAR(*evaluation.problems[3].regret, 0.25, 1e-9);
  EXPECT_EQ(evaluation.problems[3].choice.by.how, "nearest");
  EXPECT_NEAR(evaluation.median_regret, 0.1, 1e-9);
  EXPECT_NEAR(evaluation.worst_regret, 0.25, 1e-9);
  EXPECT_EQ(evaluation.unknown, 1u);
  EXPECT_EQ(evaluation.problems[4].unknown, "the choice is not recorded");
  const std::string text = evaluation_report(evaluation, true);
  EXPECT_NE(text.find("3 problems that were not tuned: median regret 10 %, worst 25 %; 1 more "
                      "whose choice has no time; 1 that the table was made from, not counted"),
            std::string::npos)
      << text;
}

TEST(Evaluate, WhatAnotherDeviceWasTunedForIsJudged) {
  std::vector<Results> others{
      results_of({toy_record(64, "fast", chunk_16, 1.2), toy_record(64, "slow", {}, 1)})};
  others.front().environment["device"] = std::string("NVIDIA H100");
  const Evaluation evaluation = evaluate(others, chooser_of(toy_table()));
  EXPECT_EQ(evaluation.tuned, 0u);
  ASSERT_EQ(evaluation.judged, 1u);
  EXPECT_NEAR(evaluation.worst_regret, 0.2, 1e-9);
}

TEST(Evaluate, AChoiceThatIsWrongIsAFailure) {
  const std::vector<Results> others{
      results_of({failed_record(toy_at(60), "fast", chunk_16), toy_record(60, "slow", {}, 1.0)})};
  const Evaluation evaluation = evaluate(others, chooser_of(toy_table()));
  ASSERT_EQ(evaluation.problems.size(), 1u);
  EXPECT_TRUE(evaluation.problems[0].failed);
  EXPECT_EQ(evaluation.judged, 0u);
  EXPECT_TRUE(std::isnan(evaluation.worst_regret));
}

TEST(Evaluate, AChoiceThatASearchLeftEarlyHasATime) {
  Record left = toy_record(60, "fast", chunk_16, 1.5);
  left.status = Status::verified;
  left.search = SearchNote{"halving", "slower", 2, {}, {}};
  const std::vector<Results> others{results_of({left, toy_record(60, "slow", {}, 1.0)})};
  const Evaluation evaluation = evaluate(others, chooser_of(toy_table()));
  EXPECT_EQ(evaluation.judged, 1u);
  EXPECT_NEAR(evaluation.worst_regret, 0.5, 1e-9);
}

TEST(Evaluate, LimitsAreThoseOfTheRecords) {
  const Limits limits = recorded_limits(toy_results().environment);
  EXPECT_EQ(limits.arch, 90);
  EXPECT_EQ(limits.multiprocessors, 132);
  EXPECT_GT(limits.shared_per_block, 200000u);
  EXPECT_EQ(recorded_limits({{"backend", "host"}}).arch, 0);
}

/// A table made at one size, a model that knows how the best number of segments goes with the size,
/// and a problem far from the table's.
TEST(Choose, ByPredictionWhereTheTableIsFar) {
  Results records = cost_model::made_up_records();
  auto examples = cost_model::examples_of(std::span(&records, 1));
  const auto model = std::make_shared<const cost_model::CostModel>(
      cost_model::learn(std::span(&records, 1), examples));
  std::erase_if(records.records, [](const Record& record) {
    return record.problem.shape.heads != 24 || record.problem.shape.batch != 8;
  });
  TunedTable table = build_table(std::span(&records, 1));
  table.path = "t.json";
  Chooser chooser(program_catalog(), BackendId::cuda, table, records.environment, {}, same_sources);
  const auto refuse = [](const Candidate& candidate) -> std::optional<std::string> {
    if (cost_model::admits(candidate)) return std::nullopt;
    return "refused";
  };
  const Problem far = cost_model::made_up_problem(1, 8192, 4), own = problem_at(8192, 8, 24);
  EXPECT_EQ(chooser.choose(far, refuse).by.how, "nearest");
  EXPECT_EQ(chooser.choose(far, refuse).by.predicted_ms, 0);
  chooser.predict_by(cost_model::Predictor(model, records.environment));
  const Choice choice = chooser.choose(far, refuse);
  ASSERT_TRUE(choice.candidate);
  EXPECT_EQ(choice.by.how, "model");
  EXPECT_EQ(choice.candidate->variant->name, "chunk_sm90");
  EXPECT_GE(choice.candidate->tile.at("segments"), 16);
  EXPECT_GT(choice.by.predicted_ms, 0);
  EXPECT_GE(choice.by.second_predicted_ms, choice.by.predicted_ms);
  EXPECT_NE(choice.by.second, "");
  EXPECT_NE(choice.by.model.find("NVIDIA H200"), std::string::npos);
  EXPECT_NE(choice.by.note.find("is predicted at"), std::string::npos) << choice.by.note;
  // The problem that was measured keeps its winner, with what was predicted for it.
  EXPECT_EQ(chooser.choose(own, refuse).by.how, "bucket");
  EXPECT_GT(chooser.choose(own, refuse).by.predicted_ms, 0);
}

}  // namespace
}  // namespace gla_bench
