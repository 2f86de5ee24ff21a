// run --against and compare, through the program itself.

#include <gtest/gtest.h>
#include <sys/stat.h>
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

class RunAgainst : public testing::Test {
 protected:
  void SetUp() override {
    const Json sweep{{"operator", "gla"},
                     {"variants", {"recurrent"}},
                     {"dtypes", {"float32"}},
                     {"shapes", {{1, 64, 2, 16, 16}}},
                     {"max_tiles", 1}};
    std::ofstream(config_) << Json{{"sweeps", {sweep}}}.dump();
  }

  int run(const std::string& arguments) {
    const std::string log = folder_.file("log");
    const std::string command =
        std::string(places::program) + " " + arguments + " > " + log + " 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream file(log);
    printed_.assign(std::istreambuf_iterator<char>(file), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  int against(const std::string& other, const std::string& more = "") {
    return run("run " + config_ + " --backend host --threads 1 --force -o " + rounds_ +
               " --against " + other + " " + more);
  }

  static Json load(const std::string& path) {
    std::ifstream file(path);
    return Json::parse(file);
  }

  // A program that says `hello` on the workers' descriptor and ends.
  std::string script(const std::string& hello) {
    const std::string path = folder_.file("script");
    std::ofstream(path) << "#!/bin/sh\necho '" << hello << "' >&3\n";
    ::chmod(path.c_str(), 0755);
    return path;
  }

  void expect_printed(const std::string& part) const {
    EXPECT_NE(printed_.find(part), std::string::npos) << printed_;
  }

  TemporaryFolder folder_;
  std::string config_ = folder_.file("config.json"), rounds_ = folder_.file("rounds.json");
  std::string printed_;
};

TEST_F(RunAgainst, ItselfMeasuresBothInTurns) {
  ASSERT_EQ(against(places::program), 0) << printed_;
  const Json file = load(rounds_);
  EXPECT_EQ(file["environment"]["against"], places::program);
  EXPECT_EQ(file["environment"]["against_git_commit"], file["environment"]["git_commit"]);
  ASSERT_EQ(file["records"].size(), 1U);
  for (const Json& record : file["records"]) {
    EXPECT_EQ(record["status"], "measured");
    const Json& other = record["against"];
    EXPECT_EQ(other["status"], "verified");
    EXPECT_EQ(other["source_hash"], record["source_hash"]);
    EXPECT_EQ(other["verification"]["tensors"], record["verification"]["tensors"]);
    EXPECT_TRUE(other["verification"]["last_timed_ok"].get<bool>());
    EXPECT_TRUE(record["verification"]["last_timed_ok"].get<bool>());
    const auto rounds = other["first"].get<std::string>().size();
    EXPECT_GE(rounds, 20U);
    EXPECT_EQ(other["base_ms"].size(), rounds * other["samples"].get<std::size_t>());
  }
  EXPECT_EQ(run("compare " + rounds_ + " --all"), 0) << printed_;
  expect_printed("paired: rounds of both programs, interleaved");
  EXPECT_EQ(run("gate " + rounds_), 0) << printed_;
  EXPECT_EQ(run("compare " + rounds_ + " --calibration " + rounds_), 2);
  expect_printed("1 rows with enough rounds, a calibration needs at least 20");
}

TEST_F(RunAgainst, APlantedSlowdownIsFound) {
  ASSERT_EQ(against(places::program, "--plant-slowdown 100"), 0) << printed_;
  const std::string json = folder_.file("comparison.json");
  const int code = run("compare " + rounds_ + " --gate --json " + json);
  const Json comparison = load(json);
  for (const Json& row : comparison["rows"]) {
    const double ratio = row["times"]["ratio"];
    EXPECT_GT(ratio, 1.3);  // a loaded machine may blur it, not hide it
    EXPECT_LT(ratio, 3.0);
    EXPECT_NE(row["verdict"], "same");
  }
  EXPECT_EQ(code, comparison["outcome"] == "regression" ? 3 : 4) << printed_;
}

TEST_F(RunAgainst, WhatIsNoProgramOrSpeaksAnotherProtocolIsRefused) {
  EXPECT_EQ(against("/bin/true"), 2);
  expect_printed("--against /bin/true: is no gla-bench that can be run against");
  EXPECT_EQ(against(folder_.file("none")), 2);
  expect_printed("is no file that can be read");
  const std::string text = folder_.file("text");
  std::ofstream(text) << "text";
  EXPECT_EQ(against(text), 2);
  expect_printed("is neither a results file nor a program");
  EXPECT_FALSE(std::filesystem::exists(rounds_));
}

TEST_F(RunAgainst, AnotherProtocolIsNamed) {
  EXPECT_EQ(against(script(
                R"({"event":"hello","protocol":99,"program_version":"9.9","git_commit":"abc"})")),
            2);
  expect_printed("(version 9.9, commit abc) speaks protocol 99, this program speaks ");
}

TEST_F(RunAgainst, AFileIsComparedUnpaired) {
  const std::string base = folder_.file("base.json");
  ASSERT_EQ(run("run " + config_ + " --backend host --threads 1 -q -o " + base), 0) << printed_;
  ASSERT_EQ(against(base), 0) << printed_;
  expect_printed("unpaired: two runs, one after the other");
  expect_printed("base: " + base);
  EXPECT_FALSE(load(rounds_)["records"][0].contains("against"));
}

TEST_F(RunAgainst, CompareHasItsExitCodes) {
  const std::string base = folder_.file("base.json"), fewer = folder_.file("fewer.json");
  ASSERT_EQ(run("run " + config_ + " --backend host --threads 1 -q -o " + base), 0) << printed_;
  EXPECT_EQ(run("compare " + base), 2);
  expect_printed("holds no interleaved rounds");
  EXPECT_EQ(run("compare " + base + " " + base + " --gate"), 4) << printed_;  // no controls
  Json file = load(base);
  file["records"].erase(0);
  std::ofstream(fewer) << file.dump();
  EXPECT_EQ(run("compare " + base + " " + fewer + " --gate"), 3) << printed_;
  expect_printed("missing");
  EXPECT_EQ(run("compare " + base + " " + fewer), 0) << printed_;
  file = load(base);
  file["records"][0]["status"] = "wrong";
  std::ofstream(fewer) << file.dump();
  EXPECT_EQ(run("compare " + base + " " + fewer + " --gate"), 1) << printed_;
  file["environment"]["device"] = "another";
  std::ofstream(fewer) << file.dump();
  EXPECT_EQ(run("compare " + base + " " + fewer + " --gate"), 2) << printed_;
  expect_printed("--allow device compares them nevertheless");
  EXPECT_EQ(run("compare " + base + " " + fewer + " --gate --allow device"), 1) << printed_;
  EXPECT_EQ(run("compare " + base + " " + fewer + " --allow devcie"), 2);
}

}  // namespace
}  // namespace gla_bench
