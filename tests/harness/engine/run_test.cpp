#include "harness/engine/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/records/contest.hpp"
#include "tests/support/toy.hpp"
#include "tests/support/toy_backend.hpp"

namespace gla_bench {
namespace {

Config config_with_shapes(const std::string& variants, const std::string& more = "") {
  const Json document = parse_json(R"({"sweeps": [{"operator": "toy", "dtypes": ["float32"],
        "shapes": [[1, 8, 2, 4, 4], [1, 16, 2, 4, 4]], "variants": )" +
                                       variants + more + "}]}",
                                   "c.json");
  return read_config(JsonNode(document, "c.json"), toy::catalog(), "");
}

Place place(BackendId backend) {
  Place p;
  p.backend = backend;
  p.source_hash = [](const Variant& variant) { return "hash of " + variant.name; };
  p.verifier_hash = [](const std::string&) { return "what verifies"; };
  return p;
}

struct Ran {
  RunSummary summary;
  std::vector<Record> records;
  std::string output;
};

Ran run_toy(toy::Script& script, const std::string& variants, BackendId id = BackendId::host,
            bool measure = true, const Catalog& catalog = toy::catalog()) {
  toy::ToyBackend backend(id, script);
  const auto work = assignments(config_with_shapes(variants), catalog, place(id));
  RunRules plan;
  plan.place = place(id);
  plan.measure = measure;
  plan.tolerance = default_tolerance();
  plan.timing.min_samples = 4;
  plan.timing.min_seconds = 0;
  plan.winner_launches = 5;
  plan.counters.of = Which::all;
  std::ostringstream out;
  Ran ran;
  {
    Progress progress(out, progress_steps(work, measure), {});
    ran.summary = run(
        backend, work, plan, [&](const Record& record) { ran.records.push_back(record); },
        progress);
  }
  ran.output = out.str();
  return ran;
}

std::size_t count(const std::vector<std::string>& log, const std::string& entry) {
  return static_cast<std::size_t>(std::count(log.begin(), log.end(), entry));
}

TEST(Run, MeasuresWhatIsRight) {
  toy::Script script;
  const Ran ran = run_toy(script, R"(["fast", "slow"])");
  EXPECT_TRUE(ran.summary.ok());
  EXPECT_EQ(ran.summary.count(Status::measured), 6u);  // two problems, fast with two tiles
  for (const Record& record : ran.records) {
    ASSERT_TRUE(record.verification && record.timing);
    EXPECT_TRUE(record.verification->ok);
    EXPECT_TRUE(record.verification->deterministic);
    EXPECT_EQ(record.verification->last_timed_ok, true);
    EXPECT_EQ(record.timing->cold.stopped_because, "noise");
    EXPECT_TRUE(record.timing->hot.has_value());
    EXPECT_DOUBLE_EQ(record.timing->cold.median_ms, 1);
    EXPECT_EQ(record.timing->clock_mhz_before, 1000);
    EXPECT_EQ(record.source_hash, "hash of " + record.variant);
    EXPECT_EQ(record.verifier_hash, "what verifies");
    EXPECT_GT(record.io.floor_bytes, 0);
    EXPECT_GT(record.flops, 0);
  }
  EXPECT_EQ(script.built_ahead, 6u);
}

TEST(Run, LaunchesBesideOtherWorkWhatIsTheFastestSoFar) {
  toy::Script script;
  script.slow = "slow";
  const Ran ran = run_toy(script, R"(["slow", "fast"])");
  EXPECT_TRUE(ran.summary.ok());
  EXPECT_EQ(count(script.log, "load"), 6u) << "the first of each problem, and those as fast";
  script = {};
  script.slow = "slow";
  for (const Record& record : run_toy(script, R"(["fast", "slow"])").records) {
    ASSERT_TRUE(record.verification && record.verification->timed_launches);
    EXPECT_EQ(record.verification->timed_launches->launches, 4);
    ASSERT_EQ(record.verification->loaded_launches.has_value(), record.variant == "fast");
    if (record.variant == "slow") continue;
    EXPECT_EQ(record.verification->loaded_launches->launches, 5);
  }
  EXPECT_EQ(count(script.log, "load"), 4u);
}

TEST(Run, VerifiesAllOfAProblemBeforeItTimesAny) {
  toy::Script script;
  run_toy(script, R"(["fast", "slow"])");
  const auto first_sample = std::find_if(script.log.begin(), script.log.end(),
                                         [](const auto& e) { return e.starts_with("sample"); });
  const std::vector<std::string> before(script.log.begin(), first_sample);
  EXPECT_GE(count(before, "run fast"), 4u);  // two tiles, each run twice
  EXPECT_GE(count(before, "run slow"), 2u);
}

TEST(Run, OneWorksetAndOnePlanAtATime) {
  toy::Script script;
  run_toy(script, R"(["fast", "slow"])");
  EXPECT_EQ(script.most_worksets, 1u);
  EXPECT_EQ(script.most_plans, 1u);
  EXPECT_EQ(script.live_worksets + script.live_plans, 0u);
  EXPECT_EQ(count(script.log, "stage"), 2u);
}

TEST(Run, VerifyAloneTimesNothing) {
  toy::Script script;
  const Ran ran = run_toy(script, R"(["slow"])", BackendId::host, false);
  EXPECT_TRUE(ran.summary.ok());
  EXPECT_EQ(ran.summary.count(Status::verified), 2u);
  EXPECT_EQ(count(script.log, "sample slow"), 0u);
  EXPECT_FALSE(ran.records[0].timing);
}

TEST(Run, WrongCandidatesAreNotTimedAndSayWhy) {
  toy::Script script;
  script.wrong = "slow";
  const Ran ran = run_toy(script, R"(["fast", "slow"])");
  EXPECT_FALSE(ran.summary.ok());
  EXPECT_EQ(ran.summary.count(Status::wrong), 2u);
  EXPECT_EQ(ran.summary.count(Status::measured), 4u);
  EXPECT_EQ(count(script.log, "sample slow"), 0u);
  for (const Record& record : ran.records) {
    if (record.variant == "slow") {
      EXPECT_NE(record.reason.find("o"), std::string::npos);
      EXPECT_FALSE(record.reason.empty());
      EXPECT_NEAR(record.verification->tensors.at("o").rel_l2, 0.25, 1e-6);
    }
  }
  EXPECT_NE(ran.output.find("wrong slow [host]"), std::string::npos) << ran.output;
}

TEST(Run, AWrongPeerIsTimedAndStaysWrong) {
  std::vector<Variant> variants = toy::make_variants();
  for (Variant& variant : variants) variant.peer = variant.name == "slow";
  toy::Script script;
  script.wrong = "slow";
  const Ran ran = run_toy(script, R"(["slow", "fast"])", BackendId::host, true,
                          {toy::catalog().operators, variants});
  EXPECT_EQ(ran.summary.count(Status::wrong), 2u);
  for (const Record& record : ran.records) {
    ASSERT_TRUE(record.timing);
    if (record.variant != "slow") continue;
    EXPECT_EQ(record.status, Status::wrong);
    EXPECT_EQ(record.verification->check, "rel_l2");
    EXPECT_NE(record.reason.find("'o'"), std::string::npos) << record.reason;
    EXPECT_FALSE(may_win(record));
  }
}

TEST(Run, AWrongTimedLaunchIsWrong) {
  toy::Script script;
  script.wrong_when_timed = "slow";
  const Ran ran = run_toy(script, R"(["slow"])");
  EXPECT_EQ(ran.summary.count(Status::wrong), 2u);
  EXPECT_EQ(ran.records[0].verification->check, "timed_sample");
  EXPECT_FALSE(ran.records[0].reason.empty());
  EXPECT_FALSE(ran.summary.ok());
}

TEST(Run, FaultsBecomeStatusesAndTheRestGoesOn) {
  toy::Script script;
  script.build_fails = "slow";
  Ran ran = run_toy(script, R"(["fast", "slow"])");
  EXPECT_EQ(ran.summary.count(Status::build_failed), 2u);
  EXPECT_EQ(ran.summary.count(Status::measured), 4u);
  EXPECT_FALSE(ran.summary.ok());

  script = {};
  script.run_fails = "slow";
  ran = run_toy(script, R"(["slow", "fast"])");
  EXPECT_EQ(ran.summary.count(Status::run_failed), 2u);
  EXPECT_EQ(ran.records[0].reason, "launch failed");
  EXPECT_EQ(ran.summary.count(Status::measured), 4u);

  script = {};
  script.throws = "slow";
  ran = run_toy(script, R"(["slow", "fast"])");
  EXPECT_EQ(ran.summary.count(Status::run_failed), 2u);

  script = {};
  script.stage_fails = true;
  ran = run_toy(script, R"(["slow"])");
  EXPECT_EQ(ran.summary.count(Status::run_failed), 2u);
  EXPECT_NE(ran.records[0].reason.find("out of device memory"), std::string::npos);
}

TEST(Run, WhatReadLessThanItsInputsIsWrong) {
  toy::Script script;
  script.reads_little = "slow";
  const Ran ran = run_toy(script, R"(["slow", "fast"])");
  EXPECT_EQ(ran.summary.count(Status::wrong), 2u);
  EXPECT_EQ(ran.summary.count(Status::measured), 4u);
  for (const Record& record : ran.records) {
    if (record.variant != "slow") continue;
    EXPECT_EQ(record.verification->check, "counted_reads");
    EXPECT_FALSE(record.verification->ok);
    EXPECT_EQ(record.reason.find("the device read 1 bytes, the inputs have"), 0u) << record.reason;
  }
}

TEST(Run, RecordsSayHowLongTheWorkTook) {
  toy::Script script;
  for (const Record& record : run_toy(script, R"(["slow"])").records) EXPECT_GT(record.seconds, 0);
}

TEST(Run, ASummaryIsOkOnlyWithoutFailures) {
  RunSummary summary;
  EXPECT_FALSE(summary.ok()) << "nothing was verified";
  summary.counts = {{Status::measured, 1}, {Status::rejected, 3}, {Status::wrong, 0}};
  EXPECT_TRUE(summary.ok());
  for (const Status status : {Status::wrong, Status::build_failed, Status::run_failed,
                              Status::crashed, Status::timeout}) {
    RunSummary failed = summary;
    failed.counts[status] = 1;
    EXPECT_FALSE(failed.ok()) << name(status);
  }
}

TEST(Run, ALostDeviceEndsTheRunBehindItsRecord) {
  toy::Script script;
  script.lost = "slow";
  const Ran ran = run_toy(script, R"(["slow", "fast"])");
  EXPECT_TRUE(ran.summary.device_lost);
  EXPECT_FALSE(ran.summary.ok());
  ASSERT_EQ(ran.records.size(), 1u);
  EXPECT_EQ(ran.records[0].status, Status::crashed);
  EXPECT_EQ(ran.records[0].reason, "an illegal address");
}

TEST(Run, WithoutADeviceCandidatesEndAsBuilt) {
  toy::Script script;
  script.device = false;
  const Ran ran = run_toy(script, R"(["slow", "device_only"])", BackendId::cuda);
  EXPECT_EQ(ran.summary.count(Status::built), 4u);
  EXPECT_FALSE(ran.summary.ok()) << "nothing was verified";
  ASSERT_TRUE(ran.records[0].build);
  EXPECT_EQ(ran.records[0].build->registers, 32);
  EXPECT_TRUE(script.log.empty());
}

TEST(Run, RefusalsAndMissingImplementationsAreRows) {
  toy::Script script;
  const Ran ran = run_toy(script, R"(["slow", "picky", "device_only"])");
  EXPECT_EQ(ran.summary.count(Status::rejected), 4u);
  for (const Record& record : ran.records) {
    if (record.variant == "picky") {
      EXPECT_EQ(record.reason, "not today");
    }
    if (record.variant == "device_only") {
      EXPECT_NE(record.reason.find("no implementation for the backend host"), std::string::npos);
    }
  }
  EXPECT_TRUE(ran.summary.ok());
}

TEST(Run, NothingButRefusalsIsNotOk) {
  toy::Script script;
  const Ran ran = run_toy(script, R"(["picky"])");
  EXPECT_FALSE(ran.summary.ok());
  EXPECT_TRUE(script.log.empty()) << "no reference for problems without a candidate";
}

TEST(Assignments, TooLargeProblemsAreRefusedWithTheirSize) {
  Place small = place(BackendId::host);
  small.host_memory = 100;
  const auto work = assignments(config_with_shapes(R"(["slow"])"), toy::catalog(), small);
  ASSERT_EQ(work.size(), 2u);
  EXPECT_TRUE(work[0].accepted.empty());
  ASSERT_EQ(work[0].refused.size(), 1u);
  EXPECT_EQ(work[0].refused[0].status, Status::rejected);
  EXPECT_NE(work[0].refused[0].reason.find("does not fit"), std::string::npos);
}

TEST(Assignments, RefusedTilesOfOneReasonAreOneRecordWithTheirCount) {
  std::vector<Variant> variants{
      toy::make_variant("odd", BackendId::host, {{"chunk", {16, 32, 48, 64, 80}, "tokens"}})};
  variants[0].reject = [](const Problem&, const Tile& tile,
                          const Limits&) -> std::optional<std::string> {
    const int chunk = tile.at("chunk");
    if (chunk == 16) return std::nullopt;
    if (chunk == 80) return "too odd";
    return std::to_string(chunk) + " tokens are too many";
  };
  const std::vector<Operator> operators{toy::make_operator()};
  const Catalog catalog{operators, variants};
  const Json document = parse_json(R"({"sweeps": [{"operator": "toy", "dtypes": ["float32"],
      "shapes": [[1, 8, 2, 4, 4]], "variants": ["odd"]}]})",
                                   "c.json");
  const auto work = assignments(read_config(JsonNode(document, "c.json"), catalog, ""), catalog,
                                place(BackendId::host));
  ASSERT_EQ(work.size(), 1u);
  EXPECT_EQ(work[0].accepted.size(), 1u);
  ASSERT_EQ(work[0].refused.size(), 2u);
  EXPECT_EQ(work[0].refused[0].reason, "32 tokens are too many");
  EXPECT_EQ(work[0].refused[0].tile, (Tile{{"chunk", 32}}));
  EXPECT_EQ(work[0].refused[0].refused_tiles, 3);
  EXPECT_EQ(work[0].refused[1].reason, "too odd");
  EXPECT_EQ(work[0].refused[1].refused_tiles, 1);
}

TEST(Assignments, WhatAStepKeepsIsSaidOfOurOwnVariantsAlone) {
  Variant variant = toy::make_variant("keeps", BackendId::host, {});
  variant.workspace = [](const Problem&, const Tile&) {
    return std::vector<Region>{{"scratch", 30}, {.name = "states", .bytes = 12, .kept = true}};
  };
  const Operator op = toy::make_operator();
  Candidate candidate{&variant, {}, {}};
  EXPECT_FALSE(new_record(op, candidate, place(BackendId::host)).io.kept_bytes);
  candidate.problem.direction = Direction::training;
  EXPECT_EQ(new_record(op, candidate, place(BackendId::host)).io.kept_bytes, 12.0);
  variant.manifest = "other.py:keeps";
  EXPECT_FALSE(new_record(op, candidate, place(BackendId::host)).io.kept_bytes);
}

TEST(Assignments, WhatIsRecordedIsDropped) {
  toy::Script script;
  const Ran ran = run_toy(script, R"(["fast", "slow", "picky"])");
  auto work = assignments(config_with_shapes(R"(["fast", "slow", "picky"])"), toy::catalog(),
                          place(BackendId::host));
  std::vector<Record> some(ran.records.begin(), ran.records.begin() + 3);
  EXPECT_EQ(drop_recorded(work, some), 3u);
  EXPECT_EQ(drop_recorded(work, ran.records), ran.records.size() - 3);
  for (const Assignment& point : work) {
    EXPECT_TRUE(point.accepted.empty());
    EXPECT_TRUE(point.refused.empty());
  }
}

TEST(Assignments, RecordsOfAnotherTileOrSeedDropNothing) {
  toy::Script script;
  Ran ran = run_toy(script, R"(["fast"])");
  for (Record& record : ran.records) record.problem.seed += 1;
  auto work =
      assignments(config_with_shapes(R"(["fast"])"), toy::catalog(), place(BackendId::host));
  EXPECT_EQ(drop_recorded(work, ran.records), 0u);
}

}  // namespace
}  // namespace gla_bench
