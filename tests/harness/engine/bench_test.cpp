#include "harness/engine/bench.hpp"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.hpp"
#include "harness/support/json.hpp"
#include "tests/support/planted_variant.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

Problem small_problem() {
  Problem problem;
  problem.op = "gla";
  problem.dtype = DType::bfloat16;
  problem.shape = {1, 20, 2, 8, 4};
  return problem;
}

class Bench : public testing::Test {
 protected:
  // Runs the variants at chunk 16 and reads what the library wrote.
  Json run(std::span<const Variant> list, std::vector<std::string> arguments = {}) {
    std::vector<Candidate> candidates;
    for (const Variant& variant : list)
      candidates.push_back({&variant, small_problem(), {{"chunk", 16}}});
    BenchOptions options;
    options.hot = hot_;
    options.context = {{"device", "a test"}};
    benchmark::ConsoleReporter display(benchmark::ConsoleReporter::OO_None);
    options.display = &display;
    options.arguments = {"--benchmark_filter=.", "--benchmark_min_time=0.001",
                         "--benchmark_repetitions=1", "--benchmark_out=" + output_,
                         "--benchmark_out_format=json"};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    outcome_ = bench(*backend_, candidates, options);
    std::ifstream file(output_);
    return Json::parse(file);
  }

  TemporaryFolder folder_;
  std::string output_ = folder_.file("bench.json");
  bool hot_ = false;
  BenchOutcome outcome_;
  std::unique_ptr<Backend> backend_ = make_host_backend({});
};

TEST_F(Bench, WritesWhatComparePyReads) {
  const Variant variant = planted_variant(Fault::none);
  hot_ = true;
  const Json json = run(std::span(&variant, 1));
  EXPECT_TRUE(outcome_.failures.empty());
  EXPECT_EQ(outcome_.selected, 2U);
  EXPECT_EQ(json["context"]["device"], "a test");
  EXPECT_EQ(json["context"]["executable"], "gla-bench");
  ASSERT_EQ(json["benchmarks"].size(), 2U);
  const std::string cold = "gla/forward/bfloat16/planted/B:1/T:20/H:2/K:8/V:4/gate:mild/chunk=16";
  EXPECT_EQ(json["benchmarks"][0]["name"], cold + "/manual_time");
  EXPECT_EQ(json["benchmarks"][1]["name"], cold + "/hot/manual_time");
  for (const Json& row : json["benchmarks"]) {
    EXPECT_EQ(row["run_type"], "iteration");
    EXPECT_EQ(row["time_unit"], "ms");
    const double seconds = row["real_time"].get<double>() * 1e-3;
    EXPECT_GT(seconds, 0.0);
    EXPECT_EQ(row["model_read_bytes"], 3000);
    EXPECT_EQ(row["model_write_bytes"], 1000);
    EXPECT_LT(row["rel_l2"].get<double>(), 4e-3);
    const double floor = find_operator("gla")->work(small_problem()).floor_bytes;
    EXPECT_NEAR(row["bytes_per_second"].get<double>() * seconds, floor, 1e-3 * floor);
    EXPECT_NEAR(row["flops"].get<double>() * seconds, 5000, 5);
  }
}

TEST_F(Bench, RepeatsAndFilters) {
  const std::vector<Variant> list{planted_variant(Fault::none, "first"),
                                  planted_variant(Fault::off_by_little, "second")};
  const Json json = run(list, {"--benchmark_filter=/first/", "--benchmark_repetitions=3"});
  EXPECT_EQ(outcome_.selected, 1U);
  EXPECT_TRUE(outcome_.failures.empty());  // the wrong one was not selected
  std::size_t repetitions = 0;
  bool median = false;
  for (const Json& row : json["benchmarks"]) {
    EXPECT_NE(row["name"].get<std::string>().find("/first/"), std::string::npos);
    if (row["run_type"] == "iteration") ++repetitions;
    median = median || row.value("aggregate_name", "") == "median";
  }
  EXPECT_EQ(repetitions, 3U);
  EXPECT_TRUE(median);
}

TEST_F(Bench, ReportsFaultsAsErrorsAndGoesOn) {
  const std::vector<Variant> list{
      planted_variant(Fault::off_by_little, "wrong"), planted_variant(Fault::nan, "nan"),
      planted_variant(Fault::overrun, "overrun"), planted_variant(Fault::throws, "throws"),
      planted_variant(Fault::none, "right")};
  const Json json = run(list);
  EXPECT_EQ(outcome_.failures.size(), 4U);
  ASSERT_EQ(json["benchmarks"].size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) {
    const Json& row = json["benchmarks"][i];
    EXPECT_TRUE(row.value("error_occurred", false)) << row;
    EXPECT_FALSE(row.value("error_message", "").empty()) << row;
  }
  EXPECT_FALSE(json["benchmarks"][4].value("error_occurred", false));
}

TEST_F(Bench, RefusesArgumentsThatTheLibraryLacks) {
  const Variant variant = planted_variant(Fault::none);
  EXPECT_THROW(run(std::span(&variant, 1), {"--benchmark_fliter=x"}), InputError);
  EXPECT_THROW(run(std::span(&variant, 1), {"--benchmark_filter=nothing_like_it"}), InputError);
  // No folder can be made below a file.
  EXPECT_THROW(run(std::span(&variant, 1), {"--benchmark_out=/dev/null/x.json"}), OutputError);
}

TEST(BenchName, TellsCandidatesApart) {
  const Variant variant = planted_variant(Fault::none);
  std::vector<Candidate> candidates(16, {&variant, small_problem(), {{"chunk", 16}}});
  candidates[1].tile = {{"chunk", 32}};
  candidates[2].problem.layout = Layout::head_first;
  candidates[3].problem.initial_state = true;
  candidates[4].problem.final_state = false;
  candidates[5].problem.scale = 0.25;
  candidates[6].problem.seed = 2;
  candidates[7].problem.tensors = "/some/where/in.safetensors";
  candidates[8].problem.gate = "strong";
  candidates[9].problem.options = {{"in_place", "true"}};
  candidates[10].problem.options = {{"state_dtype", "bfloat16"}};
  candidates[11].problem.shape.sequences = 3;
  candidates[12].problem.shape.key_seq = 9;
  candidates[13].problem.shape.key_heads = 1;
  candidates[14].problem.shape.model_dim = 32;
  candidates[15].problem.shape.columns = 7;
  std::set<std::string> names;
  for (const Candidate& candidate : candidates)
    for (const CacheState cache : {CacheState::cold, CacheState::hot})
      names.insert(benchmark_name(candidate, cache));
  EXPECT_EQ(names.size(), 2 * candidates.size());
}

}  // namespace
}  // namespace gla_bench
