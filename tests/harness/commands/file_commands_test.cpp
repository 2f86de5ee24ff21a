// exec, bench and verify on a tensor file, through the program itself.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/support/json.hpp"
#include "harness/tensors/safetensors.hpp"
#include "tests/support/places.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

// One step from a state: o and the final state can be worked out by hand. With q = k = 1, v = 2, g
// = log(1/2), a state of 4 and scale 3 over K = 1: S = 4 / 2 + 1 * 2 = 4 and o = 3 * 4.
std::vector<SafetensorsTensor> one_step() {
  const std::vector<std::int64_t> token{1, 1, 1, 1};
  return {{"q", DType::float32, token, {1}},
          {"k", DType::float32, token, {1}},
          {"model.v", DType::float32, token, {2}},
          {"g", DType::float32, token, {-0.69314718F}},
          {"initial_state", DType::float32, token, {4}}};
}

class FileCommands : public testing::Test {
 protected:
  void SetUp() override { write_safetensors(input_, one_step()); }

  // The exit status; what was printed is left in `printed_`.
  int run(const std::string& arguments) {
    const std::string log = folder_.file("log");
    const std::string command =
        std::string(places::program) + " " + arguments + " > " + log + " 2>&1";
    const int status = std::system(command.c_str());
    std::ifstream file(log);
    printed_.assign(std::istreambuf_iterator<char>(file), {});
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string config() {
    const Json sweep{{"operator", "gla"},
                     {"tensors", {{"file", "in.safetensors"}, {"v", "model.v"}}},
                     {"variants", {"recurrent"}},
                     {"max_tiles", 1}};
    const std::string path = folder_.file("config.json");
    std::ofstream(path) << Json{{"sweeps", {sweep}}}.dump();
    return path;
  }

  void expect_printed(const std::string& part) const {
    EXPECT_NE(printed_.find(part), std::string::npos) << printed_;
  }

  TemporaryFolder folder_;
  std::string input_ = folder_.file("in.safetensors"), output_ = folder_.file("out.safetensors");
  std::string exec_ = "exec --backend host --operator gla --name v=model.v --scale 3 --input " +
                      input_ + " --output " + output_;
  std::string printed_;
};

TEST_F(FileCommands, ExecWritesWhatOneStepGives) {
  ASSERT_EQ(run(exec_ + " --variant recurrent"), 0) << printed_;
  const SafetensorsFile file(output_);
  ASSERT_NE(file.find("o"), nullptr);
  EXPECT_NEAR(file.read(*file.find("o")).at(0), 12.0F, 1e-5);
  EXPECT_NEAR(file.read(*file.find("final_state")).at(0), 4.0F, 1e-5);
  EXPECT_EQ(file.metadata().at("variant"), "recurrent");
  EXPECT_EQ(std::stod(file.metadata().at("scale")), 3.0);
}

TEST_F(FileCommands, ExecExitsWithTwoForBadInput) {
  EXPECT_EQ(run(exec_ + " --variant no_such"), 2);
  expect_printed("no_such");
  EXPECT_EQ(run(exec_ + " --variant recurrent --tile no_axis=1,block_v=32"), 2);
  expect_printed("no tile axis 'no_axis'");
  EXPECT_EQ(run(exec_ + " --variant recurrent --tile block_v"), 2);
  expect_printed("expected axis=number");
  std::filesystem::resize_file(input_, 20);
  EXPECT_EQ(run(exec_ + " --variant recurrent"), 2);
  expect_printed("goes past the end");
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(FileCommands, VerifyTakesTheFile) {
  EXPECT_EQ(run("verify --backend host " + config()), 0) << printed_;
  expect_printed("1 verified");
  std::vector<SafetensorsTensor> tensors = one_step();
  tensors[3].values = {0.5F};  // g > 0
  write_safetensors(input_, tensors);
  EXPECT_EQ(run("verify --backend host " + config()), 2) << printed_;
  expect_printed("tensor 'g': element [0, 0, 0, 0] is 0.5");
}

TEST_F(FileCommands, BenchWritesTheLibrarysJson) {
  const std::string json = folder_.file("bench.json");
  const std::string bench = "bench --backend host " + config() + " --benchmark_min_time=0.001";
  ASSERT_EQ(run(bench + " --hot --benchmark_out=" + json), 0) << printed_;
  std::ifstream file(json);
  const Json rows = Json::parse(file)["benchmarks"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_TRUE(rows[0]["name"].get<std::string>().starts_with(
      "gla/forward/float32/recurrent/B:1/T:1/H:1/K:1/V:1/gate:file/"))
      << rows[0]["name"];
  EXPECT_GT(rows[0]["bytes_per_second"].get<double>(), 0.0);
  EXPECT_EQ(run(bench + " --benchmark_fliter=x"), 2);
  expect_printed("--benchmark_fliter=x");
  EXPECT_EQ(run(bench + " --benchmark_filter=no_such_variant"), 2);
}

}  // namespace
}  // namespace gla_bench
