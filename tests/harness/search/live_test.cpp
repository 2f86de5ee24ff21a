// Searches through a real worker process, some of whose candidates do the worst.

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/backends/host/machine.hpp"
#include "harness/search/tune_on_all.hpp"
#include "tests/harness/workers/planted_catalog.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench::search {
namespace {

struct Tuned {
  TuneEnd end;
  std::map<RecordKey, Record> records;  ///< what the journal would hold
  std::vector<RunStep> steps;
  std::string output;

  const Record& of(const std::string& variant, int chunk = 16) const {
    for (const auto& [key, record] : records)
      if (record.variant == variant && record.tile.at("chunk") == chunk) return record;
    throw std::out_of_range(variant);
  }
};

class LiveTest : public testing::Test {
 protected:
  LiveTest() : state_(folder_.file("state")), catalog_(planted_catalog(state_)) {}

  Config config(const std::string& variants) const {
    const Json document = parse_json(
        R"({"sweeps": [{"operator": "gla", "dtypes": ["float32"], "shapes": [[1, 20, 1, 4, 4]],
            "variants": )" +
            variants + R"(}], "policy": {"timing": {"warmup": 1, "min_samples": 3,
            "max_samples": 6, "min_seconds": 0}, "limits": {"least_seconds": 60, "factor": 0}}})",
        "c.json");
    return read_config(JsonNode(document, "c.json"), catalog_, "");
  }

  static TuneRequest request(const Config& config, Strategy strategy = Strategy::guided) {
    TuneRequest request;
    request.conditions.place.source_hash = [](const Variant& variant) {
      return "hash of " + variant.name;
    };
    request.conditions.settings.policy = config.policy;
    request.conditions.rates = rates_or_assumed({}, BackendId::host);
    request.conditions.memory = 900e6 + static_cast<double>(CacheFlush::bytes());
    request.strategy = strategy;
    request.search.most_samples = 6;  // a cold sample on a busy host takes a tenth of a second
    return request;
  }

  Tuned tune_these(const std::string& variants, Strategy strategy = Strategy::guided,
                   const std::function<void(TuneRequest&)>& change = {}) {
    const Config asked = config(variants);
    TuneRequest how = request(asked, strategy);
    if (change) change(how);
    WorkerClient client("worker", {places::planted_worker, {"serve", state_}});
    client.configure({true, asked.policy, 0, 0});
    const auto work = assignments(asked, catalog_, how.conditions.place);
    Tuned tuned;
    std::ostringstream output;
    Progress progress(output, 100, {});
    LiveHooks journal;
    journal.starting = [&](const Candidate&, RunStep step) { tuned.steps.push_back(step); };
    journal.record = [&](const Record& record) {
      if (record.status != Status::rejected) tuned.records[key_of(record)] = record;
    };
    tuned.end = tune(client, work, how, journal, progress);
    tuned.output = output.str();
    return tuned;
  }

  /// Six problems, searched by workers of these modes.
  Tuned tune_on(const std::vector<std::string>& modes, const std::string& variants) {
    Config asked = config(variants);
    for (const int seq : {5, 6, 7, 8, 9}) {
      asked.sweeps.front().shapes.push_back(asked.sweeps.front().shapes.front());
      asked.sweeps.front().shapes.back().seq = seq;
    }
    const TuneRequest how = request(asked);
    WorkerClients clients;
    for (const std::string& mode : modes) {
      clients.push_back(std::make_unique<WorkerClient>(
          mode,
          WorkerCommand{places::planted_worker, {mode, state_ + std::to_string(clients.size())}}));
      clients.back()->configure({true, asked.policy, 0, 0});
    }
    const auto work = assignments(asked, catalog_, how.conditions.place);
    Tuned tuned;
    std::ostringstream output;
    Progress progress(output, 100, {});
    LiveHooks journal;
    journal.record = [&](const Record& record) {
      if (record.status != Status::rejected) tuned.records[key_of(record)] = record;
    };
    tuned.end = tune_on_all(clients, work, how, journal, progress);
    tuned.output = output.str();
    EXPECT_EQ(tuned.end.problems.size(), work.size());
    for (std::size_t i = 0; i < std::min(work.size(), tuned.end.problems.size()); ++i)
      EXPECT_EQ(tuned.end.problems[i].problem, work[i].problem) << "in the work's order";
    return tuned;
  }

  TemporaryFolder folder_;
  std::string state_;
  Catalog catalog_;
};

TEST_F(LiveTest, SeveralWorkersTakeProblemByProblem) {
  const Tuned tuned = tune_on({"serve", "serve", "serve"}, R"(["good"])");
  EXPECT_EQ(tuned.records.size(), 12u);
  for (const SearchedProblem& problem : tuned.end.problems) EXPECT_TRUE(problem.best);
  EXPECT_EQ(tuned.end.breakdown.candidates, 12u);
}

TEST_F(LiveTest, AWorkerThatCannotBeKeptAliveLeavesItsProblemToTheOthers) {
  const Tuned tuned = tune_on({"serve", "once"}, R"(["segfault", "good"])");
  EXPECT_EQ(tuned.records.size(), 24u);
  for (const SearchedProblem& problem : tuned.end.problems) {
    ASSERT_TRUE(problem.best);
    EXPECT_EQ(problem.best->variant, "good");
  }
  EXPECT_NE(tuned.output.find("a worker is given up, the others go on: "), std::string::npos)
      << tuned.output;
}

TEST_F(LiveTest, WithoutAnyWorkerLeftTheSearchSaysSo) {
  try {
    tune_on({"once", "once"}, R"(["segfault", "good"])");
    FAIL();
  } catch (const WorkerError& error) {
    EXPECT_NE(std::string(error.what()).find("no worker is left"), std::string::npos)
        << error.what();
  }
}

TEST_F(LiveTest, WhatIsWrongOrCrashesCostsARowAndNeverWins) {
  const Tuned tuned = tune_these(R"(["good", "slow", "wrong", "segfault", "moody", "also_good"])");
  ASSERT_EQ(tuned.records.size(), 12u);
  EXPECT_EQ(tuned.of("wrong").status, Status::wrong);
  EXPECT_EQ(tuned.of("wrong").search->left, "failed");
  EXPECT_FALSE(tuned.of("wrong").timing);
  EXPECT_EQ(tuned.of("segfault").status, Status::crashed);
  EXPECT_NE(tuned.of("segfault").reason.find("also when tried again alone"), std::string::npos)
      << tuned.of("segfault").reason;
  const Record& moody = tuned.of("moody");  // it crashed once
  EXPECT_TRUE(moody.status == Status::measured || moody.status == Status::verified) << moody.reason;
  EXPECT_EQ(tuned.of("slow").status, Status::verified);
  EXPECT_EQ(tuned.of("slow").search->left, "slower");
  EXPECT_NE(tuned.of("slow").reason.find("it is slower"), std::string::npos);
  EXPECT_EQ(tuned.of("slow").timing->cold.samples_ms.size(), 1u);
  EXPECT_GE(tuned.of("slow").search->interval_ms->at(0), 8);
  ASSERT_EQ(tuned.end.problems.size(), 1u);
  ASSERT_TRUE(tuned.end.problems[0].best);
  const Record& best = *tuned.end.problems[0].best;
  EXPECT_EQ(best.status, Status::measured);
  EXPECT_EQ(best.search->left, "end");
  EXPECT_EQ(best.verification->last_timed_ok, true);
  EXPECT_TRUE(best.timing->wall_ms);
  EXPECT_GT(best.timing->cold.samples_ms.size(), 6u);
  EXPECT_NE(best.variant, "slow");
  EXPECT_EQ(tuned.end.breakdown.candidates, 12u);
  EXPECT_GT(tuned.end.breakdown.verify, 0);
  EXPECT_GT(tuned.end.breakdown.measure, 0);
  EXPECT_LE(tuned.end.breakdown.verify + tuned.end.breakdown.measure + tuned.end.breakdown.wait,
            tuned.end.breakdown.total);
  EXPECT_NE(tune_report(tuned.end).find("12 candidates in"), std::string::npos);
  EXPECT_NE(tuned.output.find("tried again alone"), std::string::npos) << tuned.output;
}

TEST_F(LiveTest, AHangCostsACandidateAndTheSearchGoesOn) {
  const Tuned tuned = tune_these(R"(["hang", "good"])", Strategy::guided, [](TuneRequest& request) {
    request.conditions.settings.policy.limits.least_seconds = 1.5;
  });
  for (const int chunk : {16, 32}) {
    const Record& hung = tuned.of("hang", chunk);
    EXPECT_EQ(hung.status, Status::timeout);
    EXPECT_EQ(hung.search->left, "failed");
    EXPECT_NE(hung.reason.find("no answer after 1.5"), std::string::npos) << hung.reason;
    EXPECT_FALSE(hung.timing);
    EXPECT_FALSE(is_failure(tuned.of("good", chunk).status)) << tuned.of("good", chunk).reason;
  }
  ASSERT_EQ(tuned.end.problems.size(), 1u);
  ASSERT_TRUE(tuned.end.problems[0].best);
  EXPECT_EQ(tuned.end.problems[0].best->variant, "good");
  EXPECT_EQ(tuned.end.problems[0].tried, 4u);
  EXPECT_EQ(tuned.end.signal, 0);
}

TEST_F(LiveTest, ExhaustiveMeasuresEachInTurnsAndVerifiesAllLastLaunches) {
  const Tuned tuned = tune_these(R"(["good", "also_good"])", Strategy::exhaustive);
  ASSERT_EQ(tuned.records.size(), 4u);
  for (const auto& [key, record] : tuned.records) {
    EXPECT_EQ(record.status, Status::measured) << record.reason;
    EXPECT_GE(record.timing->cold.samples_ms.size(), 3u);
    EXPECT_EQ(record.search->left, "end");
    EXPECT_EQ(record.search->strategy, "exhaustive");
    EXPECT_EQ(record.verification->last_timed_ok, true);
  }
}

TEST_F(LiveTest, ExhaustiveChecksNoLastLaunchOfWhatAFirstLookDropped) {
  const Tuned tuned = tune_these(R"(["good", "also_good"])", Strategy::exhaustive,
                                 [](TuneRequest& request) { request.search.clearly_slower = 0; });
  ASSERT_EQ(tuned.records.size(), 4u);
  std::size_t dropped = 0;
  for (const auto& [key, record] : tuned.records) {
    if (record.search->left == "end") {
      EXPECT_EQ(record.status, Status::measured) << record.reason;
      EXPECT_EQ(record.verification->last_timed_ok, true);
      continue;
    }
    ++dropped;
    EXPECT_EQ(record.search->left, "slower");
    EXPECT_EQ(record.status, Status::verified) << record.reason;
    EXPECT_EQ(record.timing->cold.samples_ms.size(), 3u);
    EXPECT_EQ(record.verification->last_timed_ok, std::nullopt);
  }
  EXPECT_GE(dropped, 1u);
}

TEST_F(LiveTest, ACrashWhileSamplesAreTakenCostsARowToo) {
  const Tuned tuned = tune_these(R"(["good", "late"])", Strategy::exhaustive);
  for (const int chunk : {16, 32}) {
    EXPECT_EQ(tuned.of("late", chunk).status, Status::crashed);
    EXPECT_EQ(tuned.of("good", chunk).status, Status::measured);
  }
  ASSERT_TRUE(tuned.end.problems[0].best);
  EXPECT_EQ(tuned.end.problems[0].best->variant, "good");
}

TEST_F(LiveTest, WithoutACandidateThatIsRightThereIsNoBest) {
  const Tuned tuned = tune_these(R"(["wrong"])");
  ASSERT_EQ(tuned.end.problems.size(), 1u);
  EXPECT_FALSE(tuned.end.problems[0].best);
  EXPECT_NE(tune_report(tuned.end).find("none that is right"), std::string::npos);
}

TEST_F(LiveTest, ASearchThatIsCutShortDoesNotSayThatNoneIsRight) {
  std::size_t cut_short = 0;
  for (int most = 1; most <= 12; ++most) {
    int looks = 0;
    const Tuned tuned =
        tune_these(R"(["good", "also_good"])", Strategy::exhaustive, [&](TuneRequest& request) {
          request.signal = [&]() -> std::optional<int> {
            return ++looks > most ? std::optional(SIGINT) : std::nullopt;
          };
        });
    ASSERT_EQ(tuned.end.problems.size(), 1u);
    if (tuned.end.problems[0].best || tuned.end.problems[0].right == 0) continue;
    ++cut_short;
    EXPECT_NE(tune_report(tuned.end).find("none is measured yet"), std::string::npos);
  }
  EXPECT_GE(cut_short, 1u);
}

TEST_F(LiveTest, ABudgetOfCandidatesLeavesTheOthersOutAndSaysSo) {
  const Tuned tuned = tune_these(R"(["good", "also_good"])", Strategy::guided,
                                 [](TuneRequest& request) { request.budget.candidates = 2; });
  std::size_t left_out = 0;
  for (const auto& [key, record] : tuned.records) {
    if (record.status != Status::left_out) continue;
    ++left_out;
    EXPECT_EQ(record.search->left, "stopped");
    EXPECT_EQ(record.reason, "left out: the budget of 2 candidates is used up");
  }
  EXPECT_EQ(left_out, 2u);
  EXPECT_EQ(tuned.end.problems[0].tried, 2u);
  ASSERT_TRUE(tuned.end.problems[0].best);
}

TEST_F(LiveTest, ASignalKeepsWhatIsKnownAndResumeSearchesAgain) {
  int looks = 0;
  const Tuned tuned =
      tune_these(R"(["good", "wrong", "also_good"])", Strategy::guided, [&](TuneRequest& request) {
        request.signal = [&]() -> std::optional<int> {
          return ++looks > 8 ? std::optional(SIGINT) : std::nullopt;
        };
      });
  EXPECT_EQ(tuned.end.signal, SIGINT);
  ASSERT_EQ(tuned.records.size(), 6u);
  std::vector<Record> kept;
  std::size_t stopped = 0;
  for (const auto& [key, record] : tuned.records) {
    stopped += record.search && record.search->left == "stopped" ? 1 : 0;
    kept.push_back(record);
  }
  EXPECT_GE(stopped, 1u);
  const Config asked = config(R"(["good", "wrong", "also_good"])");
  auto work = assignments(asked, catalog_, request(asked).conditions.place);
  EXPECT_EQ(drop_searched(work, kept), 0u);
  std::size_t failed = 0;
  for (const Record& record : kept) failed += is_failure(record.status) ? 1 : 0;
  EXPECT_EQ(work[0].accepted.size(), 6u - failed);
  for (Record& record : kept) record.search->left = "end";
  EXPECT_EQ(drop_searched(work, kept), 1u);
  EXPECT_TRUE(work[0].accepted.empty());
}

}  // namespace
}  // namespace gla_bench::search
