// `gla-bench verify --random` from outside, on the host.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/records/record_file.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

Outcome verify(const std::string& arguments) {
  return program("verify " + arguments);
}

TEST(RandomCommand, VerifiesDrawnProblemsAndRecordsThem) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const Outcome outcome =
      verify("--random 16 --seed 3 --variants recurrent,chunk_pipeline --backend host -o " + file);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  const Results results = read_results(file);
  std::map<std::string, int> problems;
  for (const Record& record : results.records)
    if (record.variant == "recurrent") {
      ++problems[record.problem.op];
      EXPECT_EQ(record.status, Status::verified);
    }
  EXPECT_EQ(problems.size(), 5u);
  EXPECT_EQ(problems["linear_attention"], 4);  // the first operator has what is left over
  EXPECT_EQ(problems["rwkv6"], 3);
  ASSERT_TRUE(results.config);
  EXPECT_NE(results.config->dump().find("\"seed\":3"), std::string::npos);
  // The file says which problems: what is there already is not done again.
  const Outcome again = verify(
      "--random 16 --seed 3 --variants recurrent,chunk_pipeline --backend host --resume -o " +
      file);
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_TRUE(again.has(std::to_string(results.records.size()) + " candidates are recorded"))
      << again.text;
}

TEST(RandomCommand, AFailureIsPrintedWithWhatRepeatsItAndFailsTheCommand) {
  const TemporaryFolder folder;
  // No computation in bfloat16 is as close as this asks for.
  std::ifstream in(std::string(places::source_dir) + "/configs/tolerance.json");
  std::string tolerance{std::istreambuf_iterator<char>(in), {}};
  for (const std::string cap : {"4e-3", "2e-3", "1e-5"})
    tolerance.replace(tolerance.find(cap), cap.size(), "1e-9");
  std::ofstream(folder.file("tolerance.json")) << tolerance;
  std::ofstream(folder.file("c.json")) << R"({"backend": "host", "sweeps": [
    {"operator": "gla", "variants": ["recurrent"], "random": {"problems": 2}, "seed": 3,
     "dtypes": ["bfloat16"]}], "policy": {"tolerance": "tolerance.json"}})";
  const Outcome outcome = verify(folder.file("c.json"));
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  EXPECT_TRUE(outcome.has("Failures")) << outcome.text;
  EXPECT_TRUE(outcome.has("gla-bench repeat '{\"variant\":\"recurrent\"")) << outcome.text;
  EXPECT_TRUE(outcome.has("records: 2 wrong")) << outcome.text;
  const Outcome first = verify(folder.file("c.json") + " --until-failure");
  EXPECT_EQ(first.code, 1) << first.text;
  EXPECT_TRUE(first.has("records: 1 wrong")) << first.text;
  EXPECT_TRUE(first.has("ended by --until-failure")) << first.text;
}

TEST(RandomCommand, APartOfAConfig) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("c.json")) << R"({"backend": "host", "sweeps": [
    {"operator": "gla", "variants": ["recurrent", "decode"], "dtypes": ["bfloat16", "float32"],
     "shapes": [{"batch": 1, "seq": 4, "heads": 1, "key_dim": 8, "value_dim": 8}]},
    {"operator": "softmax", "variants": "all", "dtypes": ["float32"],
     "shapes": [{"batch": 2, "columns": 9}]}]})";
  const std::string file = folder.file("r.json");
  const Outcome outcome = verify(folder.file("c.json") +
                                 " --operators gla --variants decode --dtypes bf16 --until-failure"
                                 " -o " +
                                 file);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  const Results results = read_results(file);
  ASSERT_EQ(results.records.size(), 1u);
  EXPECT_EQ(results.records[0].variant, "decode");
  EXPECT_EQ(results.records[0].problem.dtype, DType::bfloat16);
  const Outcome unknown = verify(folder.file("c.json") + " --variants recurent");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(unknown.has("--variants: found \"recurent\"")) << unknown.text;
}

TEST(RandomCommand, TakesOtherNamesOfDtypes) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const Outcome outcome = verify(
      "--random 1 --operators gla --variants recurrent --dtypes half --backend host -o " + file);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  const Results results = read_results(file);
  ASSERT_EQ(results.records.size(), 1u);
  EXPECT_EQ(results.records[0].problem.dtype, DType::float16);
  EXPECT_NE(results.config->dump().find("\"dtypes\":[\"float16\"]"), std::string::npos);
}

std::set<std::string> all_kinds() {
  std::set<std::string> kinds{"softmax forward", "softmax backward", "gla_layer forward",
                              "gla_layer backward"};
  for (const char* op : {"linear_attention", "retention", "simple_gla", "gla", "rwkv6", "attention",
                         "decay_attention"})
    for (const char* direction : {" forward", " backward"})
      kinds.insert(std::string(op) + direction);
  for (const char* op :
       {"linear_attention", "retention", "simple_gla", "gla", "rwkv6", "gla_layer"})
    kinds.insert(std::string(op) + " training");
  return kinds;
}

TEST(RandomCommand, DrawsEveryOperatorInItsDirections) {
  const TemporaryFolder folder;
  const std::string file = folder.file("r.json");
  const Outcome outcome = verify("--random 24 --seed 5 --backend host -o " + file);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  std::set<std::string> kinds;
  for (const Record& record : read_results(file).records)
    kinds.insert(record.problem.op + " " + std::string(name(record.problem.direction)));
  EXPECT_EQ(kinds, all_kinds());
}

TEST(RandomCommand, BadUseIsRefused) {
  EXPECT_EQ(verify("").code, 2);
  EXPECT_EQ(verify("c.json --random 3").code, 2);
  EXPECT_EQ(verify("c.json --seed 3").code, 2);
  EXPECT_EQ(verify("--random 0").code, 2);
  EXPECT_EQ(verify("--random 3 --dtypes float8").code, 2);
  const Outcome variant = verify("--random 3 --operators gla --variants chunk");
  EXPECT_EQ(variant.code, 2);
  EXPECT_TRUE(variant.has("--variants: found \"chunk\", expected some of")) << variant.text;
  const Outcome op = verify("--random 3 --operators convolution");
  EXPECT_EQ(op.code, 2);
  EXPECT_TRUE(op.has("--operators: found \"convolution\"")) << op.text;
  const Outcome timed = program("repeat {} --emulate");
  EXPECT_EQ(timed.code, 2);
  EXPECT_TRUE(timed.has("--emulate requires --verify")) << timed.text;
  const Outcome emulated = verify("--random 3 --emulate --backend host");
  EXPECT_EQ(emulated.code, 2);
  EXPECT_TRUE(emulated.has("found --backend host, expected --backend cuda")) << emulated.text;
  const Outcome direction = verify("--random 3 --operators attention --directions training");
  EXPECT_EQ(direction.code, 2);
  EXPECT_TRUE(direction.has("--directions: found none")) << direction.text;
}

}  // namespace
}  // namespace gla_bench
