// Kernels from outside on the command line: init writes one, and the other commands take it.

#include <filesystem>

#include "harness/backends/backend.hpp"
#include "harness/records/record_file.hpp"
#include "tests/harness/config/candidates/example.hpp"
#include "tests/support/run_program.hpp"

namespace gla_bench {
namespace {

class CandidatesCommand : public testing::Test {
 protected:
  CandidatesCommand() {
    EXPECT_EQ(program("init " + folder_.file("my_kernel")).code, 0);
    std::ofstream(config_) << R"({"backend": "cuda", "sweeps": [{"operator": "gla",
        "variants": ["my_kernel"], "dtypes": ["bfloat16"], "max_tiles": 1,
        "shapes": [[1, 20, 2, 16, 24]]}]})";
  }

  /// Another place of a text in a file.
  static void edit(const std::string& path, const std::string& old, const std::string& now) {
    std::string text = read_text_file(path);
    text.replace(text.find(old), old.size(), now);
    std::ofstream(path) << text;
  }

  TemporaryFolder folder_;
  std::string manifest_ = folder_.file("my_kernel.json"), source_ = folder_.file("my_kernel.cu");
  std::string config_ = folder_.file("c.json"), mine_ = " --candidates " + manifest_;
};

TEST_F(CandidatesCommand, InitWritesTheExampleUnderItsName) {
  const Json json = read_json_file(manifest_);
  EXPECT_EQ(json["variant"], "my_kernel");
  EXPECT_EQ(json["source"], "my_kernel.cu");
  EXPECT_EQ(json["launches"][0]["entry"], "my_kernel");
  const std::string text = read_text_file(source_);
  EXPECT_NE(text.find("void my_kernel("), std::string::npos);
  EXPECT_EQ(text.find("naive_gla"), std::string::npos);
}

TEST_F(CandidatesCommand, InitReplacesNothingUnlessItIsTold) {
  std::ofstream(source_) << "mine";
  std::filesystem::remove(manifest_);
  const Outcome refused = program("init " + folder_.file("my_kernel"));
  EXPECT_EQ(refused.code, 2) << refused.text;
  EXPECT_TRUE(refused.has("my_kernel.cu: is there already")) << refused.text;
  EXPECT_EQ(read_text_file(source_), "mine");
  EXPECT_FALSE(std::filesystem::exists(manifest_));
  EXPECT_EQ(program("init --force " + folder_.file("my_kernel")).code, 0);
  EXPECT_NE(read_text_file(source_), "mine");
  for (const char* bad : {"My", "1st", "a-b", "''"})
    EXPECT_EQ(program(std::string("init ") + bad).code, 2);
  const Outcome other = program("init --operator softmax " + folder_.file("other"));
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(other.has("expected one that there is an example of: gla")) << other.text;
}

TEST_F(CandidatesCommand, ListShowsIt) {
  const Outcome listed = program("list gla" + mine_);
  EXPECT_EQ(listed.code, 0) << listed.text;
  EXPECT_TRUE(listed.has("my_kernel [cuda]")) << listed.text;
  EXPECT_TRUE(listed.has("block_v: 32, 64, 128  (columns of V that a block owns)")) << listed.text;
  const Json json = parse_json(program("list --json" + mine_).text, "list");
  EXPECT_NE(json.dump().find("\"my_kernel\""), std::string::npos);
}

TEST_F(CandidatesCommand, WithoutItTheConfigNamesNoVariant) {
  const Outcome refused = program("plan " + config_);
  EXPECT_EQ(refused.code, 2) << refused.text;
  EXPECT_TRUE(refused.has("/sweeps/0/variants/0: found \"my_kernel\"")) << refused.text;
}

TEST_F(CandidatesCommand, BadManifestsEndWithTwoAndThePlace) {
  edit(manifest_, "ceil_div(value_dim, block_v)", "value_dm");
  for (const std::string& command :
       {std::string("list gla"), "plan " + config_, "verify " + config_}) {
    const Outcome refused = program(command + mine_);
    EXPECT_EQ(refused.code, 2) << refused.text;
    EXPECT_TRUE(refused.has("my_kernel.json: /launches/0/grid/0: found \"value_dm\", expected"))
        << refused.text;
  }
  EXPECT_EQ(program("list gla --candidates " + folder_.file("none.json")).code, 2);
}

TEST_F(CandidatesCommand, AWorkersRecordNamesItsManifest) {
  if (!make_cuda_backend()) GTEST_SKIP() << "a build without CUDA";
  EXPECT_EQ(program("compile " + config_ + " --arch sm_90a" + mine_).code, 0);
  const Outcome planned = program("plan " + config_ + mine_);
  EXPECT_EQ(planned.code, 0) << planned.text;
  EXPECT_TRUE(planned.has("candidates      1")) << planned.text;
  const std::string out = folder_.file("out.json");
  const std::string verify = "verify " + config_ + mine_ + " -q -o " + out;
  const Outcome verified = program(verify);
  const Results results = read_results(out);
  ASSERT_EQ(results.records.size(), 1u) << verified.text;
  const Record& record = results.records[0];
  const bool gpu = record.status == Status::verified;
  EXPECT_TRUE(gpu || record.status == Status::built) << describe(record);
  EXPECT_EQ(record.manifest, manifest_);
  EXPECT_NE(repeat_command(record).find(manifest_), std::string::npos) << repeat_command(record);
  EXPECT_EQ((*results.config)["candidates"], Json::array({manifest_}));
  // The command in the record needs nothing else; without a GPU it says that alone.
  const std::string repeat = repeat_command(record).substr(std::string("gla-bench ").size());
  const Outcome repeated = program(repeat);
  EXPECT_TRUE(gpu ? repeated.code == 0 : repeated.has("nothing can run on cuda")) << repeated.text;
  // Nothing is tried again until the kernel is edited.
  EXPECT_TRUE(program(verify + " --resume").has("1 candidates are recorded already"));
  edit(source_, "scale * sum", "sum * scale");
  EXPECT_TRUE(program(verify + " --resume").has("0 candidates are recorded already"));
}

}  // namespace
}  // namespace gla_bench
