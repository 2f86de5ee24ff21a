// gla-bench tune, through the program itself.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/support/json.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

class TuneCommand : public testing::Test {
 protected:
  void SetUp() override {
    const Json sweep{{"operator", "gla"},
                     {"variants", {"recurrent", "chunk_fused"}},
                     {"dtypes", {"float32"}},
                     {"max_tiles", 2},
                     {"shapes", {{1, 64, 2, 16, 16}}}};
    const Json timing{{"min_samples", 3}, {"max_samples", 6}};
    const Json policy{{"timing", timing}};
    std::ofstream(config_) << Json{{"sweeps", {sweep}}, {"policy", policy}}.dump();
  }

  int run(const std::string& arguments) {
    const std::string log = folder_.file("log");
    const int status = std::system(
        (std::string(places::program) + " " + arguments + " > " + log + " 2>&1").c_str());
    std::ifstream file(log);
    printed_.assign(std::istreambuf_iterator<char>(file), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  int tune(const std::string& more) {
    return run("tune " + config_ + " --backend host --threads 1 -o " + out_ + " --tuned " + table_ +
               " " + more);
  }

  Json load() const {
    std::ifstream file(out_);
    return Json::parse(file);
  }

  TemporaryFolder folder_;
  std::string config_ = folder_.file("config.json"), out_ = folder_.file("out.json"),
              table_ = folder_.file("table.json"), printed_;
};

TEST_F(TuneCommand, FindsTheBestRightCandidateAndAccountsForAll) {
  ASSERT_EQ(tune(""), 0) << printed_;
  EXPECT_NE(printed_.find("a minute: verifying"), std::string::npos) << printed_;
  const Json file = load();
  EXPECT_GT(file["environment"]["tune_candidates_per_minute"], 0);
  EXPECT_GT(file["environment"]["tune_verify_seconds"], 0);
  std::size_t winners = 0;
  for (const Json& record : file["records"]) {
    if (record["status"] == "rejected") continue;
    EXPECT_EQ(record["search"]["strategy"], "guided");
    winners += record["status"] == "measured" && record["search"]["left"] == "end" ? 1 : 0;
  }
  EXPECT_GE(winners, 1u);
  EXPECT_EQ(run("gate " + out_), 0) << printed_;
  std::ifstream table(table_);
  EXPECT_NE(Json::parse(table).dump().find("block_v"), std::string::npos);
  EXPECT_EQ(tune("--resume"), 0) << printed_;
  EXPECT_NE(printed_.find("1 problems are searched already"), std::string::npos) << printed_;
  EXPECT_EQ(load()["records"].size(), file["records"].size());
  EXPECT_EQ(tune(""), 2);  // it is there already
}

TEST_F(TuneCommand, FitsAModelThatAutoGoesBy) {
  const std::string records = std::string(places::source_dir) + "/results/h200/gla.json";
  const std::string model = folder_.file("h200.model.json");
  ASSERT_EQ(run("tune --fit " + records + " -o " + model), 0) << printed_;
  EXPECT_NE(printed_.find("chunk_sm90"), std::string::npos) << printed_;
  EXPECT_NE(printed_.find("the predicted best of"), std::string::npos) << printed_;
  // A limit that nothing can be below, and what is no results file.
  EXPECT_EQ(run("tune --fit " + records + " -o " + model + " --most-median -1"), 1) << printed_;
  EXPECT_EQ(run("tune --fit " + model + " -o " + table_), 2) << printed_;
  EXPECT_EQ(run("tune --fit " + records + " -o " + records), 2) << printed_;
  EXPECT_NE(printed_.find("--fit"), std::string::npos) << printed_;
  // Problems of other files, of which only new shapes count.
  const std::string headline = std::string(places::source_dir) + "/results/h200/headline.json";
  ASSERT_EQ(run("tune --fit " + records + " -o " + model + " --judge " + headline), 0) << printed_;
  EXPECT_NE(printed_.find("times of shapes that it was taught nothing of"), std::string::npos)
      << printed_;
  EXPECT_EQ(
      run("tune --fit " + records + " -o " + model + " --judge " + headline + " --most-worst -1"),
      1)
      << printed_;
  EXPECT_EQ(run("tune --fit " + records + " -o " + model + " --judge " + records), 2) << printed_;
  EXPECT_NE(printed_.find("--judge: no problem there has 5 times"), std::string::npos) << printed_;
  EXPECT_EQ(run("tune --judge " + records), 2) << printed_;
  std::ofstream(config_) << R"({"sweeps": [{"operator": "gla", "variants": ["auto"],
      "dtypes": ["bfloat16"], "shapes": [[2, 5000, 8, 128, 128]]}]})";
  ASSERT_EQ(run("plan " + config_ + " --backend cuda --model " + model), 0) << printed_;
  EXPECT_NE(printed_.find("times are predicted by h200.model.json (NVIDIA H200)"),
            std::string::npos)
      << printed_;
  EXPECT_NE(printed_.find("chunk_sm90"), std::string::npos) << printed_;
  EXPECT_EQ(run("plan " + config_ + " --backend host --model " + model), 2) << printed_;
}

/// A model from another version must not keep what needs no prediction from running.
TEST_F(TuneCommand, AModelThatCannotBeReadIsAWarningUnlessItIsNamed) {
  const std::string data = folder_.file("data");
  std::filesystem::create_directories(data + "/gla-bench/tuned");
  std::ofstream(data + "/gla-bench/tuned/nvidia-h200.model.json") << R"({"model_version": 7})";
  ::setenv("XDG_DATA_HOME", data.c_str(), 1);
  EXPECT_EQ(run("list gla"), 0);
  EXPECT_NE(printed_.find("warning: no times are predicted: " + data), std::string::npos)
      << printed_;
  EXPECT_EQ(run("list gla --model " + data + "/gla-bench/tuned/nvidia-h200.model.json"), 2);
  ::unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(run("list gla --shape 4 2048 16 128 128"), 0);
  EXPECT_NE(printed_.find("predicted to be fastest there, forward, by nvidia-h200.model.json"),
            std::string::npos)
      << printed_;
}

TEST_F(TuneCommand, ReplaysWhatWasMeasuredInFull) {
  ASSERT_EQ(tune("--strategy exhaustive --quiet --no-table"), 0) << printed_;
  EXPECT_FALSE(std::ifstream(table_).good());
  ASSERT_EQ(run("tune --replay " + out_ + " --seeds 3"), 0) << printed_;
  EXPECT_NE(printed_.find("regret"), std::string::npos) << printed_;
  EXPECT_NE(printed_.find("gla forward float32"), std::string::npos) << printed_;
}

TEST_F(TuneCommand, WhatAutoAndTheSearchCostIsJudgedByMeasuringAll) {
  ASSERT_EQ(tune("--exhaustive-of 1 --seed 7 --most-worst 1e9"), 0) << printed_;
  EXPECT_NE(printed_.find("best of all candidates, 1 problems measured whole"), std::string::npos)
      << printed_;
  EXPECT_NE(printed_.find("auto: median "), std::string::npos) << printed_;
  EXPECT_NE(printed_.find("search: median "), std::string::npos) << printed_;
  EXPECT_FALSE(std::ifstream(table_).good());  // what is judged does not learn from it
  const Results results = read_results(out_);
  EXPECT_EQ(fact_number(results.environment, "judged_seed"), 7);
  std::size_t measured = 0;
  for (const Record& record : results.records)
    measured += record.search && record.search->strategy == "exhaustive" ? 1 : 0;
  EXPECT_GT(measured, 1u);
  EXPECT_EQ(tune("--exhaustive-of 1 --force --most-worst -1"), 1) << printed_;
}

TEST_F(TuneCommand, AutoIsNoCandidateOfASearch) {
  std::ifstream written(config_);
  Json config = Json::parse(written);
  config["sweeps"].push_back(config["sweeps"][0]);
  config["sweeps"][1]["variants"].push_back("auto");
  std::ofstream(config_) << config.dump();
  EXPECT_EQ(tune(""), 2);
  EXPECT_NE(printed_.find(config_ + ": /sweeps/1/variants/2: found \"auto\", expected "),
            std::string::npos)
      << printed_;
  EXPECT_FALSE(std::ifstream(out_).good());
}

// The table has two kinds of problems, by their head dimensions, and the config one of them.
TEST_F(TuneCommand, AHeaderIsForTheConfigsProblemsAlone) {
  const std::string records = std::string(places::source_dir) + "/results/h200/gla.json";
  const std::string model = folder_.file("h200.model.json"), table = folder_.file("h200.json");
  ASSERT_EQ(run("tune --fit " + records + " -o " + model), 0) << printed_;
  ASSERT_EQ(run("tune --from " + records + " -o " + table), 0) << printed_;
  std::ofstream(config_) << R"({"sweeps": [{"operator": "gla", "variants": ["auto"],
      "dtypes": ["bfloat16"], "shapes": [[2, 4096, 8, 64, 64]]}]})";
  const std::string header = folder_.file("tuned.hpp");
  ASSERT_EQ(run("tune --tuned " + table + " --model " + model + " --for " + config_ +
                " --export-header " + header),
            0)
      << printed_;
  std::ifstream file(header);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  int of_config = 0, of_others = 0;  // entries that come from a prediction
  const std::string begin = "\n    {\"forward\"";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    const std::string entry = text.substr(at, text.find("},", at) - at);
    if (entry.find("0, 0, \"\", ") == std::string::npos) continue;
    ++(entry.find(", 64, 64, 0,") != std::string::npos ? of_config : of_others);
  }
  EXPECT_GT(of_config, 0);
  EXPECT_EQ(of_others, 0);
}

TEST_F(TuneCommand, BadUsageIsSaid) {
  EXPECT_EQ(run("tune"), 2);
  EXPECT_NE(printed_.find("takes one of a config"), std::string::npos) << printed_;
  EXPECT_EQ(tune("--strategy guessing"), 2);
  EXPECT_NE(printed_.find("guided, exhaustive"), std::string::npos) << printed_;
  EXPECT_EQ(tune("--budget-seconds -1"), 2);
  EXPECT_EQ(tune("--exhaustive-of 0"), 2);
  EXPECT_EQ(run("tune --tuned " + std::string(places::source_dir) +
                "/results/tuned/nvidia-h200.json --for " + config_ + " --export-header " + out_),
            2);
  EXPECT_NE(printed_.find("--for needs a model"), std::string::npos) << printed_;
  ASSERT_EQ(tune("--budget-candidates 2"), 0) << printed_;
  ASSERT_EQ(run("tune --replay " + out_), 2);
  EXPECT_NE(printed_.find("measured in full"), std::string::npos) << printed_;
}

}  // namespace
}  // namespace gla_bench
