// `gla-bench run` as a parent of workers, from outside.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"
#include "harness/workers/process.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

/// Four candidates, each timed for four seconds at least: noise of 0 is never reached.
constexpr const char* slow_config = R"({"backend": "host", "sweeps": [{"operator": "gla",
    "variants": ["recurrent", "chunk_fused"], "dtypes": ["float32"],
    "shapes": [[1, 20, 2, 8, 4], [1, 9, 1, 8, 4]], "max_tiles": 1}],
    "policy": {"timing": {"max_noise": 0, "max_samples": 1000000, "min_seconds": 2}}})";

/// Waits until a process answers a signal itself, which it has blocked then. Before it the process
/// still loads or reads its config, which takes as long as a busy machine likes. While it is forked
/// all signals are blocked, also the one that nobody answers.
void wait_for_readiness(pid_t pid, int signal) {
  const std::string status = "/proc/" + std::to_string(pid) + "/status", field = "SigBlk:";
  for (int i = 0; i < 6000; ++i) {
    std::ifstream file(status);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t at = text.find(field);
    const std::uint64_t blocked =
        at == std::string::npos ? 0 : std::stoull(text.substr(at + field.size()), nullptr, 16);
    const auto blocks = [&](int number) { return (blocked >> (number - 1) & 1) != 0; };
    if (blocks(signal) && !blocks(SIGHUP)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  FAIL() << "process " << pid << " has not blocked signal " << signal;
}

class RunCommand : public testing::Test {
 protected:
  RunCommand() { std::ofstream(config_) << slow_config; }

  bool recorded(const std::string& text) const {
    for (const std::string& path : {out_, out_ + ".journal"})
      if (std::filesystem::exists(path) && read_text_file(path).find(text) != std::string::npos)
        return true;
    return false;
  }

  /// The exit of a run that is sent a signal behind its first measured row.
  Death end_by(int signal) {
    WorkerProcess run({places::program, {"run", config_, "-q", "-o", out_}});
    for (int i = 0; i < 3000 && !recorded("\"status\":\"measured\""); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ::kill(run.pid(), signal);
    return run.bury(60);
  }

  TemporaryFolder folder_;
  std::string config_ = folder_.file("c.json"), out_ = folder_.file("out.json");
};

TEST_F(RunCommand, EndsBySignalWithEverythingKept) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Death death = end_by(signal);
    EXPECT_EQ(death.cause, "exit code " + std::to_string(128 + signal)) << death.last_words;
    EXPECT_NE(death.last_words.find("ended by " + signal_text(signal)), std::string::npos)
        << death.last_words;
    EXPECT_NE(death.last_words.find(" of 4 candidates are recorded in " + out_), std::string::npos)
        << death.last_words;
    const Results results = read_results(out_);
    EXPECT_GE(results.records.size(), 1u);
    EXPECT_LT(results.records.size(), 4u);
    EXPECT_FALSE(std::filesystem::exists(out_ + ".journal"));
    const Outcome told = program("report " + out_);
    EXPECT_TRUE(told.has(" of 4 candidates verified")) << told.text;
    EXPECT_TRUE(told.has("never tried: ended by " + signal_text(signal))) << told.text;
    EXPECT_FALSE(told.has("All ")) << told.text;
    EXPECT_FALSE(program("report " + out_ + " --where variant=recurrent").has("never tried"));
    std::filesystem::remove(out_);
  }
}

TEST_F(RunCommand, AResumedRunThatCameToItsEndSaysNothingOfTheSignal) {
  std::ofstream(config_) << R"({"backend": "host", "sweeps": [{"operator": "gla",
    "variants": ["recurrent", "chunk_fused"], "dtypes": ["float32"],
    "shapes": [[1, 20, 2, 8, 4], [1, 9, 1, 8, 4]], "max_tiles": 1}],
    "policy": {"timing": {"max_noise": 0, "max_samples": 1000000, "min_seconds": 0.5,
      "max_seconds": 0.5}}})";
  end_by(SIGINT);
  EXPECT_NE(fact_text(read_results(out_).environment, "ended_by"), "");
  const Outcome resumed = program("run " + config_ + " --resume -q -o " + out_);
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_EQ(fact_text(read_results(out_).environment, "ended_by"), "");
  EXPECT_TRUE(program("report " + out_).has("All 4 candidates verified"));
}

// Before the first candidate there is a worker to start, and ceilings to measure.
TEST_F(RunCommand, ASignalInTheFirstSecondsStillLeavesAFileAndAMessage) {
  for (const int milliseconds : {0, 1000}) {
    WorkerProcess run({places::program, {"run", config_, "-q", "-o", out_}});
    wait_for_readiness(run.pid(), SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    ::kill(run.pid(), SIGINT);
    const Death death = run.bury(60);
    EXPECT_EQ(death.cause, "exit code 130") << death.last_words;
    EXPECT_NE(death.last_words.find("ended by SIGINT"), std::string::npos) << death.last_words;
    EXPECT_NE(death.last_words.find("of 4 candidates are recorded in " + out_), std::string::npos)
        << death.last_words;
    ASSERT_TRUE(std::filesystem::exists(out_)) << death.last_words;
    EXPECT_LT(read_results(out_).records.size(), 4u);
    std::filesystem::remove(out_);
  }
}

TEST_F(RunCommand, ASignalIsAnsweredWhereNoFileWasAskedFor) {
  WorkerProcess run({places::program, {"verify", config_, "-q", "--seeds", "1000"}});
  wait_for_readiness(run.pid(), SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  ::kill(run.pid(), SIGINT);
  const Death death = run.bury(60);
  EXPECT_EQ(death.cause, "exit code 130") << death.last_words;
  EXPECT_NE(death.last_words.find("no results file was asked for"), std::string::npos)
      << death.last_words;
}

TEST_F(RunCommand, RoundsAgainstAnotherProgramAreKeptToo) {
  WorkerProcess run(
      {places::program, {"run", config_, "--against", places::program, "-q", "-o", out_}});
  for (int i = 0; i < 3000 && !recorded("\"status\":\"measured\""); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ::kill(run.pid(), SIGINT);
  const Death death = run.bury(60);
  EXPECT_EQ(death.cause, "exit code 130") << death.last_words;
  EXPECT_NE(death.last_words.find("of 4 candidates are recorded in " + out_), std::string::npos)
      << death.last_words;
  const Results results = read_results(out_);
  EXPECT_GE(results.records.size(), 1u);
  EXPECT_LT(results.records.size(), 4u);
  EXPECT_FALSE(std::filesystem::exists(out_ + ".journal"));
}

TEST_F(RunCommand, GpusThatAreNotThereAreBadInput) {
  for (const std::string gpus : {"77", "0,x"}) {
    WorkerProcess run(
        {places::program, {"run", config_, "--backend", "cuda", "--gpus", gpus, "-o", out_}});
    const Death death = run.bury(120);
    EXPECT_EQ(death.cause, "exit code 2") << death.last_words;
    EXPECT_NE(death.last_words.find("gla-bench: "), std::string::npos) << death.last_words;
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
}

}  // namespace
}  // namespace gla_bench
