// Runs through real worker processes, whose candidates do the worst.

#include "harness/workers/supervisor.hpp"
#include "harness/workers/client.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/error.hpp"
#include "harness/backends/host/machine.hpp"
#include "tests/harness/workers/planted_catalog.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

// An honest step of these tests takes a millisecond; a machine that is busy with other things may
// stretch that a lot.
constexpr double patience_seconds = 15;

struct Ran {
  SupervisedEnd end;
  std::vector<Record> records;
  std::vector<std::string> started;
  std::string output;

  std::map<std::string, Record> by_variant() const {
    std::map<std::string, Record> map;
    for (const Record& record : records) map[record.variant] = record;
    return map;
  }
};

class SupervisorTest : public testing::Test {
 protected:
  SupervisorTest() : state_(folder_.file("state")), catalog_(planted_catalog(state_)) {}

  Config config(const std::string& variants) const {
    const Json document = parse_json(
        R"({"sweeps": [{"operator": "gla", "dtypes": ["float32"], "max_tiles": 1,
            "shapes": [[1, 20, 1, 4, 4]], "variants": )" +
            variants + R"(}], "policy": {
            "timing": {"warmup": 0, "min_samples": 2, "max_samples": 2, "min_seconds": 0,
                       "max_seconds": 20},
            "limits": {"least_seconds": )" +
            std::to_string(patience_seconds) + R"(, "factor": 0}}})",
        "c.json");
    return read_config(JsonNode(document, "c.json"), catalog_, "");
  }

  WorkerCommand command(const std::string& mode = "serve") const {
    return {places::planted_worker, {mode, state_}};
  }

  /// `starting` is called with the name of the worker that begins a step.
  Ran run(const std::string& variants, bool measure = true, int workers = 1,
          const std::string& mode = "serve",
          const std::function<void(const std::string&)>& starting = {}) {
    Supervisor supervisor;
    for (int i = 0; i < workers; ++i) supervisor.add("w" + std::to_string(i), command(mode));
    const Config asked = config(variants);
    WorkConditions conditions;
    conditions.place.source_hash = [](const Variant& variant) { return "hash of " + variant.name; };
    conditions.settings.measure = measure;
    conditions.settings.policy = asked.policy;
    conditions.rates = rates_or_assumed({}, BackendId::host);
    conditions.memory = 900e6 + static_cast<double>(CacheFlush::bytes());
    const auto work = assignments(asked, catalog_, conditions.place);
    Ran ran;
    RunHooks hooks;
    hooks.record = [&](const Record& record) {
      // The planted variants refuse one of their tiles; those rows are not what is tested here.
      if (record.status != Status::rejected) ran.records.push_back(record);
    };
    hooks.starting = [&](const Candidate& candidate, RunStep step, const std::string& where) {
      ran.started.push_back(where + " " + std::string(name(step)) + " " + candidate.variant->name);
      if (starting) starting(where);
    };
    std::ostringstream out;
    {
      Progress progress(out, progress_steps(work, measure), {});
      ran.end = supervisor.run(work, conditions, hooks, progress);
    }
    ran.output = out.str();
    return ran;
  }

  TemporaryFolder folder_;
  std::string state_;
  Catalog catalog_;
};

TEST_F(SupervisorTest, WhatIsRightIsMeasured) {
  const Ran ran = run(R"(["good", "also_good"])");
  EXPECT_TRUE(ran.end.summary.ok()) << ran.output;
  ASSERT_EQ(ran.records.size(), 2u);
  for (const Record& record : ran.records) {
    EXPECT_EQ(record.status, Status::measured);
    ASSERT_TRUE(record.timing && record.verification);
    EXPECT_EQ(record.timing->cold.samples_ms.size(), 2u);
    EXPECT_EQ(record.source_hash, "hash of " + record.variant);
  }
  const std::vector<std::string> expected{
      "w0 build good",       "w0 reference good",    "w0 verify good",       "w0 build also_good",
      "w0 verify also_good", "w0 build good",        "w0 measure good",      "w0 counters good",
      "w0 build also_good",  "w0 measure also_good", "w0 counters also_good"};
  EXPECT_EQ(ran.started, expected);
}

TEST_F(SupervisorTest, EachFaultCostsItsRowAlone) {
  const Ran ran =
      run(R"(["good", "segfault", "abort", "exit", "hang", "greedy", "garbage", "also_good"])");
  const auto rows = ran.by_variant();
  ASSERT_EQ(ran.records.size(), 8u) << ran.output;
  EXPECT_TRUE(ran.end.broken.empty()) << ran.end.broken;
  for (const std::string name : {"good", "garbage", "also_good"})
    EXPECT_EQ(rows.at(name).status, Status::measured) << name << ": " << rows.at(name).reason;
  const auto crashed = [&](const std::string& name, const std::string& cause) {
    EXPECT_EQ(rows.at(name).status, Status::crashed) << name;
    EXPECT_NE(rows.at(name).reason.find(cause), std::string::npos) << rows.at(name).reason;
    EXPECT_NE(rows.at(name).reason.find("tried again alone"), std::string::npos)
        << rows.at(name).reason;
  };
  crashed("exit", "exit code 3");
  crashed("greedy", "out of host memory");
#ifndef __SANITIZE_ADDRESS__  // which reports signals in its own way, and exits
  crashed("segfault", "SIGSEGV");
#endif
  crashed("abort", "SIGABRT");
  EXPECT_EQ(rows.at("hang").status, Status::timeout);
  EXPECT_NE(rows.at("hang").reason.find("verify: it was not done after"), std::string::npos)
      << rows.at("hang").reason;
  EXPECT_FALSE(ran.end.summary.ok());
}

TEST_F(SupervisorTest, ACrashWhileTimingCostsItsRowAndTheOthersAreVerifiedAgain) {
  const Ran ran = run(R"(["good", "late", "also_good"])");
  const auto rows = ran.by_variant();
  ASSERT_EQ(ran.records.size(), 3u) << ran.output;
  EXPECT_EQ(rows.at("good").status, Status::measured);
  EXPECT_EQ(rows.at("also_good").status, Status::measured);
  EXPECT_EQ(rows.at("late").status, Status::crashed);
  EXPECT_TRUE(rows.at("late").reason.starts_with("measure: ")) << rows.at("late").reason;
}

TEST_F(SupervisorTest, ASuspectThatGoesThroughAloneIsAcquitted) {
  const Ran ran = run(R"(["good", "moody", "also_good"])");
  ASSERT_EQ(ran.records.size(), 3u) << ran.output;
  EXPECT_TRUE(ran.end.summary.ok()) << ran.output;
  EXPECT_NE(ran.output.find("which is tried again alone"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("it went through when tried alone"), std::string::npos) << ran.output;
}

TEST_F(SupervisorTest, SeveralWorkersShareTheProblems) {
  const Ran ran = run(R"(["good", "segfault", "also_good"])", false, 2);
  EXPECT_EQ(ran.records.size(), 3u);
  EXPECT_EQ(ran.end.summary.count(Status::verified), 2u);
}

/// The processes that this one has started, the first one first.
std::vector<pid_t> children() {
  std::vector<pid_t> list;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "stat");
    pid_t pid = 0, parent = 0;
    std::string name, state;
    if (in >> pid >> name >> state >> parent && parent == ::getpid() && state != "Z")
      list.push_back(pid);
  }
  std::ranges::sort(list);
  return list;
}

TEST_F(SupervisorTest, AWorkerKilledInAStepIsReplacedAndToldOf) {
  for (const bool first : {true, false}) {
    bool killed = false;
    const Ran ran =
        run(R"(["good", "also_good"])", true, 2, "serve", [&](const std::string& where) {
          if (killed || where != "w0") return;
          killed = true;
          const std::vector<pid_t> workers = children();
          ASSERT_EQ(workers.size(), 2u);
          ::kill(workers[first ? 0 : 1], SIGKILL);
        });
    EXPECT_TRUE(killed);
    EXPECT_TRUE(ran.end.summary.ok()) << ran.output;
    EXPECT_EQ(ran.by_variant().size(), 2u) << ran.output;
    EXPECT_EQ(ran.records.size(), 2u) << "no row is lost or twice";
    EXPECT_NE(ran.output.find(first ? "w0: SIGKILL" : "w1: SIGKILL"), std::string::npos)
        << ran.output;
  }
}

TEST_F(SupervisorTest, AWorkerThatDiesAtItsStartIsAFaultOfTheMachine) {
  Supervisor supervisor;
  try {
    supervisor.add("w", command("die"));
    FAIL();
  } catch (const WorkerError& error) {
    EXPECT_NE(std::string(error.what()).find("exit code 9"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("no wish to live"), std::string::npos) << error.what();
  }
  try {
    supervisor.add("w", {"/nowhere/at/all", {}});
    FAIL();
  } catch (const WorkerError& error) {
    EXPECT_NE(std::string(error.what()).find("127"), std::string::npos) << error.what();
  }
}

TEST_F(SupervisorTest, AMetricThatTheWorkersDeviceLacksIsTheUsersMistake) {
  Supervisor supervisor;
  supervisor.add("w", command("poor"));
  EXPECT_EQ(supervisor.first().plan_counters({}, "c.json").substr(0, 10), "10 metrics");
  WorkerClient client("w", command("poor"));
  const CounterPolicy bad{Which::all, {"no_such.sum"}};
  for (const auto& ask :
       std::vector<std::function<void()>>{[&] { supervisor.first().plan_counters(bad, "c.json"); },
                                          [&] { client.plan_counters(bad, "c.json"); }})
    try {
      ask();
      FAIL() << "accepted";
    } catch (const InputError& error) {
      EXPECT_NE(
          std::string(error.what()).find("c.json: /policy/counters/metrics: found \"no_such.sum\""),
          std::string::npos)
          << error.what();
    }
}

TEST_F(SupervisorTest, WorkersThatNeverBeginEndTheRunAndNotTheParent) {
  const Ran ran = run(R"(["good"])", true, 1, "faint");
  EXPECT_TRUE(ran.records.empty()) << ran.output;
  EXPECT_NE(ran.end.broken.find("before they began any work"), std::string::npos) << ran.end.broken;
}

/// False once the process is gone, or dead and waiting for whoever inherited it.
bool lives(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return in >> number >> name >> state && state != "Z" && state != "X";
}

TEST_F(SupervisorTest, AWorkerEndsWithItsParentAlsoWhenItHangs) {
  const pid_t parent = ::fork();
  if (parent == 0) {
    run(R"(["hang"])");
    ::_exit(0);
  }
  pid_t worker = 0;
  for (int i = 0; i < 1000 && worker == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::ifstream(state_) >> worker;
  }
  ASSERT_NE(worker, 0);
  EXPECT_TRUE(lives(worker));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  for (int i = 0; i < 1000 && lives(worker); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(lives(worker));
}

}  // namespace
}  // namespace gla_bench
