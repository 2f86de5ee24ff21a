// `gla-bench run` as a parent of workers, from outside.

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"
#include "harness/workers/process.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

/// Four candidates, each timed for four seconds at least: noise of 0 is never reached.
constexpr const char* slow_config = R"({"backend": "host", "sweeps": [{"operator": "gla",
    "variants": ["recurrent", "chunk_fused"], "dtypes": ["float32"],
    "shapes": [[1, 20, 2, 8, 4], [1, 9, 1, 8, 4]], "max_tiles": 1}],
    "policy": {"timing": {"max_noise": 0, "max_samples": 1000000, "min_seconds": 2}}})";

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
    const Results results = read_results(out_);
    EXPECT_GE(results.records.size(), 1u);
    EXPECT_LT(results.records.size(), 4u);
    EXPECT_FALSE(std::filesystem::exists(out_ + ".journal"));
    std::filesystem::remove(out_);
  }
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
