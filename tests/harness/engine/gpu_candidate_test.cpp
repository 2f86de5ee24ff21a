// A kernel from outside on the device, verified against float64 as any variant; skipped without
// one.

#include <sstream>

#include "harness/config/config.hpp"
#include "harness/engine/run.hpp"
#include "tests/harness/config/candidates/example.hpp"

namespace gla_bench {
namespace {

class GpuCandidate : public testing::Test {
 protected:
  void SetUp() override {
    CudaOptions options;
    options.cache_dir = folder_.file("cache");
    backend_ = make_cuda_backend(options);
    if (!backend_ || !backend_->can_run()) GTEST_SKIP() << "no CUDA device";
  }

  // The records of a config of the example on these problems; with `measure` they are timed, too.
  std::vector<Record> run_on(const example::Files& files, const std::string& problems,
                             bool measure = false) {
    const Json document = parse_json(
        R"({"sweeps": [{"operator": "gla", "variants": ["naive_gla"], )" + problems + "}]}", "c");
    const Config config = read_config(JsonNode(document, "c"), files.catalog(), "");
    RunRules rules;
    rules.place.backend = BackendId::cuda;
    rules.place.limits = backend_->limits();
    rules.place.source_hash = [](const Variant&) { return std::string("hash"); };
    rules.measure = measure;
    rules.timing.min_seconds = 0;
    rules.tolerance = default_tolerance();
    const auto work = assignments(config, config.catalog, rules.place);
    std::vector<Record> records;
    for (const Assignment& point : work)
      records.insert(records.end(), point.refused.begin(), point.refused.end());
    std::ostringstream silent;
    Progress progress(silent, progress_steps(work, measure), {});
    run(
        *backend_, work, rules, [&](const Record& record) { records.push_back(record); }, progress);
    return records;
  }

  static constexpr const char* one_problem =
      R"("dtypes": ["float32"], "max_tiles": 1, "shapes": [[2, 33, 3, 40, 72]])";

  TemporaryFolder folder_;
  std::unique_ptr<Backend> backend_;
};

TEST_F(GpuCandidate, TheExampleIsRight) {
  const auto records = run_on(example::Files(), R"("dtypes": ["float32", "bfloat16", "float16"],
      "layouts": ["seq_first", "head_first"], "gates": "all", "initial_state": [false, true],
      "final_state": [true, false], "shapes": [[2, 100, 3, 64, 96], [1, 1, 1, 1, 1],
      [2, 37, 2, 128, 130]])");
  EXPECT_GT(records.size(), 100u);
  for (const Record& record : records)
    if (record.status != Status::rejected) {
      EXPECT_EQ(record.status, Status::verified) << describe(record);
    }
}

TEST_F(GpuCandidate, TheExampleTakesItsOptions) {
  const auto records = run_on(example::Files(), R"("dtypes": ["bfloat16"],
      "initial_state": true, "options": {"in_place": [false, true], "packed": [false, true],
      "state_size": [1, 100]}, "max_tiles": 1, "shapes": [[2, 33, 3, 40, 72]])");
  ASSERT_EQ(records.size(), 8u);
  for (const Record& record : records)
    EXPECT_EQ(record.status, Status::verified) << describe(record);
}

TEST_F(GpuCandidate, ItIsTimed) {
  const auto records = run_on(example::Files(), one_problem, true);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].status, Status::measured) << describe(records[0]);
  ASSERT_TRUE(records[0].timing);
  EXPECT_GT(records[0].timing->cold.median_ms, 0);
}

// Each fault is planted in the example, and the harness's own checks find it.
TEST_F(GpuCandidate, FaultsAreFound) {
  struct Fault {
    const char *old, *now;
    Status status;
    const char* reason;
  };
  const std::vector<Fault> faults{
      {"scale * sum", "sum", Status::wrong, ""},
      {"if (column >= VALUE_DIM) return;", "", Status::wrong, ""},
      {"const io_t* q, const io_t* k,", "const io_t* q, io_t* k,", Status::verified, ""},
      {"s[i] = decay * s[i]", "const_cast<io_t*>(k)[0] = io_t(7.0f);\n s[i] = decay * s[i]",
       Status::wrong, ""},
      {"long long seq, float scale,", "long long seq, double scale,", Status::build_failed,
       "takes 8 bytes as argument 9, 4 are passed"},
      {"long long seq, float scale,", "float scale, long long seq,", Status::build_failed,
       "argument 8"},
      {"long long output_head)", "long long output_head, int more)", Status::build_failed,
       "takes more than the 21 arguments that are passed"}};
  for (const Fault& fault : faults) {
    std::string text = example::source();
    text.replace(text.find(fault.old), std::string(fault.old).size(), fault.now);
    const auto records = run_on(example::Files(example::manifest(), text), one_problem);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].status, fault.status) << fault.now << ": " << describe(records[0]);
    EXPECT_NE(records[0].reason.find(fault.reason), std::string::npos) << records[0].reason;
  }
}

// A region begins as NaN, and is zero where a step says so.
TEST_F(GpuCandidate, ARegionIsNaNUnlessItIsSetToZero) {
  std::string text = example::source();
  const std::string old = "long long output_head) {";
  text.replace(text.find(old), old.size(), "long long output_head, const float* nothing) {");
  const std::string sum = "scale * sum";
  text.replace(text.find(sum), sum.size(), "scale * sum + nothing[0]");
  Json json =
      example::changed("/workspace", Json::array({Json{{"name", "nothing"}, {"bytes", 4}}}));
  json["launches"][0]["arguments"].push_back("nothing");
  const auto status = [&] { return run_on(example::Files(json, text), one_problem).at(0).status; };
  EXPECT_EQ(status(), Status::wrong);
  json["launches"].insert(json["launches"].begin(), Json{{"zero", "nothing"}});
  EXPECT_EQ(status(), Status::verified);
}

}  // namespace
}  // namespace gla_bench
