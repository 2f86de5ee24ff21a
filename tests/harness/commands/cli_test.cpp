// The program as a user meets it: exit codes, messages, files.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "core/catalog.hpp"
#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"
#include "harness/tensors/safetensors.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

class Cli : public testing::Test {
 protected:
  /// Two small problems, one tile each.
  std::string write_config(const std::string& more = "", const std::string& name = "c.json") {
    const std::string path = folder_.file(name);
    std::ofstream(path) << R"({"backend": "host", "sweeps": [{"operator": "gla",
      "variants": ["recurrent", "chunk_fused"], "dtypes": ["float32"],
      "shapes": [[1, 20, 2, 8, 4], [1, 9, 1, 8, 4]], "max_tiles": 1)"
                        << more << R"(}],
      "policy": {"timing": {"warmup": 0, "min_samples": 2, "max_samples": 2, "min_seconds": 0}}})";
    return path;
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  static bool has(const Outcome& outcome, const std::string& text) {
    return outcome.text.find(text) != std::string::npos;
  }

  TemporaryFolder folder_;
};

TEST_F(Cli, HelpAndVersionAreDone) {
  EXPECT_EQ(program("--help").code, 0);
  EXPECT_EQ(program("--version").code, 0);
  for (const std::string command : {"list", "info", "plan", "compile", "run", "verify", "exec",
                                    "bench", "gate", "report", "export"}) {
    const Outcome outcome = program(command + " --help");
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_TRUE(has(outcome, "Examples:")) << command;
  }
}

TEST_F(Cli, HelpDocumentsTheExitCodeOfSignals) {
  EXPECT_TRUE(has(program("--help"), "128 + the signal's number"));
}

TEST_F(Cli, BadUsageIsTwo) {
  for (const std::string arguments :
       {"", "dance", "run", "gate", "run a b", "run x.json --backend rocm", "list --shape 1 2",
        "list --dtype fp8", "list --arch volta", "exec x -o y --variant recurrent --option a=b",
        "list attentions", "report --width x", "gate /nowhere.json", "plan /nowhere.json",
        "run /nowhere.json"}) {
    const Outcome outcome = program(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.text;
    EXPECT_FALSE(outcome.text.empty()) << arguments;
  }
}

TEST_F(Cli, ListHasAPageOfNamesAndOfOneOperatorAll) {
  const Outcome names = program("list");
  EXPECT_EQ(names.code, 0) << names.text;
  for (const Operator& op : operators())
    EXPECT_NE(("\n" + names.text).find("\n" + op.name + ": "), std::string::npos);
  EXPECT_TRUE(has(names, "  backward, cuda: recurrent, "));
  EXPECT_FALSE(has(names, "accepted"));
  EXPECT_LT(std::count(names.text.begin(), names.text.end(), '\n'), 100);
  EXPECT_TRUE(has(program("list gla"), " accepted"));
  const Outcome no_operator = program("list --dtype float32");
  EXPECT_EQ(no_operator.code, 2);
  EXPECT_TRUE(has(no_operator, "requires operator")) << no_operator.text;
}

TEST_F(Cli, ListTakesOtherNamesOfDtypes) {
  const Outcome outcome = program("list gla --dtype bf16");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_EQ(outcome.text, program("list gla --dtype bfloat16").text);
}

TEST_F(Cli, ListSaysWhichExtentIsTooLarge) {
  const Outcome outcome = program("list gla --shape 1 64 2 513 64");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(has(outcome, "--shape: found 513, expected key_dim of 1 to 512")) << outcome.text;
  EXPECT_EQ(program("list gla_layer --model-dim 0").code, 2);
  EXPECT_TRUE(has(program("list gla_layer --model-dim 96"), "H=16 K=128 V=128 d=96"));
}

TEST_F(Cli, ConfigErrorsNameFilePointerAndExpectation) {
  const std::string path = write_config(R"(, "gates": ["mildd"])");
  for (const std::string command : {"run", "verify", "plan", "compile", "bench"}) {
    const Outcome outcome = program(command + " " + path);
    EXPECT_EQ(outcome.code, 2) << command;
    EXPECT_TRUE(has(outcome, path + ": /sweeps/0/gates/0: found \"mildd\"")) << outcome.text;
    EXPECT_TRUE(has(outcome, "did you mean \"mild\"?")) << outcome.text;
  }
}

TEST_F(Cli, RunsGatesAndReports) {
  const std::string path = write_config(), out = file("deep/out.json");
  const Outcome ran = program("run " + path + " -o " + out);
  EXPECT_EQ(ran.code, 0) << ran.text;
  EXPECT_TRUE(has(ran, "winner")) << ran.text;
  EXPECT_TRUE(has(ran, "4 measured")) << ran.text;
  const Results results = read_results(out);
  ASSERT_EQ(results.records.size(), 4u);
  for (const std::string key : {"device", "host", "host_compiler", "git_commit", "command_line",
                                "started", "backend", "copy_gb_per_s"})
    EXPECT_FALSE(fact_text(results.environment, key).empty()) << key;
  EXPECT_GT(fact_number(results.environment, "wall_seconds"), 0);
  const std::string line = fact_text(results.environment, "command_line");
  EXPECT_EQ(line,
            "gla-bench run " + std::filesystem::path(path).filename().string() + " -o out.json")
      << "no folder of this machine";
  const Outcome gated = program("gate " + out + " --require-fresh --junit " + file("j.xml"));
  EXPECT_EQ(gated.code, 0) << gated.text;
  EXPECT_NE(read_text_file(file("j.xml")).find("<testsuite "), std::string::npos);
  EXPECT_TRUE(has(program("report " + out + " --markdown"), "| recurrent |"));
  EXPECT_FALSE(has(program("report " + out), "\033[")) << "a pipe has no colours";
  EXPECT_TRUE(has(program("report " + out + " --color always"), "\033[32m"));
  EXPECT_EQ(program("report " + out + " --color sometimes").code, 2);
  const Outcome compared = program("report " + out + " --against " + out);
  EXPECT_EQ(compared.code, 0) << compared.text;
  EXPECT_TRUE(has(compared, "4 rows: ")) << compared.text;
  const std::string json = file("comparison.json");
  EXPECT_EQ(program("report " + out + " --against " + out + " --json " + json).code, 0);
  EXPECT_NE(read_text_file(json).find("\"comparison_version\": 1"), std::string::npos);
  EXPECT_EQ(program("report " + out + " --against " + out + " " + out).code, 2);
  EXPECT_EQ(program("report " + out + " --allow driver").code, 2) << "needs --against";
  EXPECT_EQ(program("report " + out + " --against " + out + " --allow colour").code, 2);
}

// OpenBLAS has chosen before main(), for whoever starts first. Workers get what suits the
// processor.
TEST_F(Cli, ProductsAreMadeForThisProcessor) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "there are no other kernels";
  ASSERT_EQ(program("verify " + write_config() + " -q -o " + file("r.json")).code, 0);
  const std::string blas = fact_text(read_results(file("r.json")).environment, "blas");
  EXPECT_NE(blas.find("OpenBLAS"), std::string::npos) << blas;
  EXPECT_EQ(blas.find("Prescott"), std::string::npos) << blas;
#else
  GTEST_SKIP() << "another processor";
#endif
}

TEST_F(Cli, ResultsAreNotReplacedUnlessForced) {
  const std::string path = write_config(), out = file("out.json");
  EXPECT_EQ(program("verify " + path + " -o " + out).code, 0);
  const Outcome again = program("verify " + path + " -o " + out);
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(has(again, "exists already")) << again.text;
  EXPECT_EQ(program("verify " + path + " --force -o " + out).code, 0);
  EXPECT_EQ(program("verify " + path + " --force --resume -o " + out).code, 2);
  EXPECT_EQ(program("verify " + path + " --resume").code, 2);
}

TEST_F(Cli, ResumeSkipsWhatIsThere) {
  const std::string path = write_config(), out = file("out.json");
  ASSERT_EQ(program("verify " + path + " -o " + out).code, 0);
  // As a kill in the middle of the third record leaves it.
  const Results whole = read_results(out);
  std::filesystem::remove(out);
  {
    RecordFile file = RecordFile::create(out, whole.environment, *whole.config);
    for (const std::size_t record : {0, 1}) file.append(whole.records.at(record));
  }
  std::ofstream(journal_path(out), std::ios::binary | std::ios::app) << "{\"record\":{\"variant\":";
  for (const std::string command : {"report ", "gate "}) {
    const Outcome told = program(command + out);
    EXPECT_TRUE(has(told, "has not come to its end")) << told.text;
    EXPECT_TRUE(has(told, "--resume -o " + out)) << told.text;
  }
  const Outcome resumed = program("verify " + path + " --resume -o " + out);
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  EXPECT_TRUE(has(resumed, "2 candidates are recorded already")) << resumed.text;
  EXPECT_EQ(read_results(out).records.size(), 4u);
  EXPECT_FALSE(std::filesystem::exists(journal_path(out)));
  EXPECT_FALSE(has(program("report " + out), "has not come to its end"));
  const Outcome other =
      program("verify " + write_config(", \"seed\": 5", "d.json") + " --resume -o " + out);
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(has(other, "/config/sweeps/0/seed: 5 here, 1 there")) << other.text;
}

TEST_F(Cli, GateFailsWhatIsMissing) {
  const std::string path = write_config(), out = file("out.json");
  ASSERT_EQ(program("verify " + path + " -o " + out).code, 0);
  std::string text = read_text_file(out);
  // The last record goes.
  text.erase(text.rfind(",\n{"), text.rfind("\n]}") - text.rfind(",\n{"));
  std::ofstream(out, std::ios::binary) << text;
  const Outcome gated = program("gate " + out);
  EXPECT_EQ(gated.code, 1) << gated.text;
  EXPECT_TRUE(has(gated, "FAIL")) << gated.text;
  EXPECT_TRUE(has(gated, "no verified record")) << gated.text;
}

TEST_F(Cli, PlanCountsAndRunsNothing) {
  const Outcome outcome = program("plan " + write_config());
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_TRUE(has(outcome, "problems        2")) << outcome.text;
  EXPECT_TRUE(has(outcome, "candidates      4")) << outcome.text;
}

TEST_F(Cli, PlanRefusesWhatCanNotFitWithItsSize) {
  const std::string path = file("c.json");
  std::ofstream(path) << R"({"backend": "host", "sweeps": [{"operator": "gla",
      "variants": ["recurrent"], "dtypes": ["float32"], "max_tiles": 1,
      "shapes": [[1024, 65536, 64, 64, 64]]}]})";
  const Outcome planned = program("plan " + path);
  EXPECT_EQ(planned.code, 0) << planned.text;
  EXPECT_TRUE(has(planned, "does not fit: ")) << planned.text;
  EXPECT_TRUE(has(planned, " TB")) << planned.text;
  EXPECT_EQ(program("verify " + path).code, 1) << "nothing was verified";
}

TEST_F(Cli, TakesTensorsFromAFile) {
  const auto tensor = [](const std::string& name, std::int64_t dim, float value) {
    return SafetensorsTensor{name,
                             DType::float32,
                             {1, 12, 2, dim},
                             std::vector<float>(static_cast<std::size_t>(12 * 2 * dim), value)};
  };
  const std::vector<SafetensorsTensor> tensors{tensor("model.q", 8, 0.5F), tensor("k", 8, 0.25F),
                                               tensor("v", 4, 2), tensor("g", 8, -0.125F)};
  write_safetensors(file("x.safetensors"), tensors);
  const std::string path = file("c.json"), out = file("out.json");
  std::ofstream(path) << R"({"backend": "host", "sweeps": [{"operator": "gla", "max_tiles": 1,
      "variants": ["recurrent"], "tensors": {"file": "x.safetensors", "q": "model.q"}}]})";
  const Outcome verified = program("verify " + path + " -o " + out);
  EXPECT_EQ(verified.code, 0) << verified.text;
  const Results results = read_results(out);
  ASSERT_EQ(results.records.size(), 1u);
  EXPECT_EQ(results.records[0].problem.shape, (Shape{1, 12, 2, 8, 4}));
  EXPECT_EQ(results.records[0].problem.gate, "file");
  const Outcome gated = program("gate " + out);
  EXPECT_EQ(gated.code, 0) << gated.text;
  const std::string whole = read_text_file(file("x.safetensors"));
  std::ofstream(file("x.safetensors"), std::ios::binary) << whole.substr(0, whole.size() - 8);
  const Outcome shortened = program("verify " + path);
  EXPECT_EQ(shortened.code, 2);
  EXPECT_TRUE(has(shortened, "x.safetensors")) << shortened.text;
}

#ifdef GLA_BENCH_WITH_CUDA
TEST_F(Cli, CompileFailsWhereAKernelDoes) {
  const std::string path = file("c.json"), kernels = file("tree/kernels");
  std::ofstream(path) << R"({"sweeps": [{"operator": "gla", "variants": ["recurrent"],
      "dtypes": ["bfloat16"], "shapes": [[1, 20, 1, 16, 16]], "max_tiles": 1}]})";
  std::filesystem::create_directories(file("tree"));
  std::filesystem::copy(std::string(places::source_dir) + "/kernels", kernels,
                        std::filesystem::copy_options::recursive);
  const std::string arguments = "compile " + path + " --arch sm_80 --kernels " + kernels +
                                " --cache-dir " + file("cache") + " --emit " + file("emitted");
  const Outcome good = program(arguments);
  EXPECT_EQ(good.code, 0) << good.text;
  EXPECT_TRUE(has(good, "1 compiled for sm_80, 0 failed")) << good.text;
  EXPECT_FALSE(std::filesystem::is_empty(file("emitted")));
  const std::string source = kernels + "/linear_recurrence/recurrent/recurrent.cuh";
  std::ofstream(source, std::ios::app) << "\n__global__ void warns() { int unused; }\n";
  const Outcome warned = program(arguments);
  EXPECT_EQ(warned.code, 0) << warned.text;
  EXPECT_TRUE(has(warned, "warning recurrent [cuda]")) << warned.text;
  EXPECT_TRUE(has(warned, "warning #")) << "what EndToEnd.CompileEveryVariant looks for";
  std::ofstream(source, std::ios::app) << "\nnonsense here;\n";
  const Outcome bad = program(arguments);
  EXPECT_EQ(bad.code, 1) << bad.text;
  EXPECT_TRUE(has(bad, "FAIL recurrent [cuda]")) << bad.text;
  EXPECT_TRUE(has(bad, "nonsense")) << bad.text;
  const Outcome written = program(arguments + " --no-build");
  EXPECT_EQ(written.code, 0) << written.text;
  EXPECT_TRUE(has(written, "1 written for sm_80")) << written.text;
}
#endif

#ifdef GLA_BENCH_WITH_CUDA
TEST_F(Cli, CompileQuicklyShowsNumbersOfWhatHasMachineCode) {
  const std::string path = file("c.json");
  std::ofstream(path) << R"({"sweeps": [{"operator": "gla", "variants": ["recurrent"],
      "dtypes": ["bfloat16", "float32"], "shapes": [[1, 20, 1, 16, 16]],
      "tiles": {"recurrent": {"block_v": [16], "columns": [1], "lanes": [4, 8], "stages": [2],
                              "tokens": [8]}}}]})";
  const std::string arguments = "compile " + path + " --arch sm_80 --cache-dir " + file("cache");
  const auto without_numbers = [](const Outcome& outcome) {
    std::istringstream lines(outcome.text);
    int count = 0;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_search(line, std::regex("16x16 +- +- +- "))) ++count;
    return count;
  };
  const Outcome quick = program(arguments + " --quick");
  EXPECT_EQ(quick.code, 0) << quick.text;
  EXPECT_TRUE(has(quick, "4 compiled for sm_80, 0 failed")) << quick.text;
  EXPECT_EQ(without_numbers(quick), 2) << "the second of each dtype: " << quick.text;
  const Outcome whole = program(arguments);
  EXPECT_EQ(whole.code, 0) << whole.text;
  EXPECT_FALSE(has(whole, "cached")) << whole.text;
  EXPECT_EQ(without_numbers(whole), 0) << whole.text;
}
#endif

TEST_F(Cli, CompileNamesWhatIsNoArchitecture) {
  const std::string path = file("c.json");
  std::ofstream(path) << R"({"sweeps": [{"operator": "gla", "variants": ["parallel"],
      "dtypes": ["bfloat16"], "shapes": [[1, 20, 1, 16, 16]], "max_tiles": 1}]})";
  const Outcome outcome = program("compile " + path + " --arch sm_80,volta");
  EXPECT_EQ(outcome.code, 2) << outcome.text;
  EXPECT_TRUE(has(outcome, "volta")) << outcome.text;
}

TEST_F(Cli, ListAndInfoSayWhatThereIs) {
  const Outcome list = program("list gla");
  EXPECT_EQ(list.code, 0);
  for (const std::string part :
       {"recurrent [host]", "chunk_fused [host]", "block_v:", "gates: none"})
    EXPECT_TRUE(has(list, part)) << part;
  const Outcome info = program("info --quick");
  EXPECT_EQ(info.code, 0);
  EXPECT_TRUE(has(info, "CUDA: ")) << info.text;
  EXPECT_TRUE(has(info, "host")) << info.text;
}

TEST_F(Cli, AFolderThatTakesNoFilesIsReportedAtOnce) {
  const Outcome outcome = program("verify " + write_config() + " -o /proc/out.json");
  EXPECT_EQ(outcome.code, 5) << outcome.text;
  EXPECT_TRUE(has(outcome, "/proc/out.json")) << outcome.text;
  EXPECT_FALSE(has(outcome, "running on")) << "nothing was begun: " << outcome.text;
}

TEST_F(Cli, AFullDiskIsReportedWithWhatIsKept) {
  const std::string path = write_config(), out = file("out.json");
  const Outcome outcome = program("--version; ulimit -f 20; " + std::string(places::program) +
                                  " run " + path + " -q -o " + out);
  EXPECT_EQ(outcome.code, 5) << outcome.text;
  EXPECT_TRUE(has(outcome, "--resume goes on")) << outcome.text;
  EXPECT_TRUE(Json::accept(read_text_file(out)));
  EXPECT_LT(read_results(out).records.size(), 4u);
}

}  // namespace
}  // namespace gla_bench
