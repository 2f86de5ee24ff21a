// `run --extend` and `verify --extend` as a user meets them.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "harness/records/record_file.hpp"
#include "harness/records/record_json.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

using Strings = std::vector<std::string>;

/// Each row by its key, times and all.
std::map<RecordKey, std::string> rows_of(const std::string& path) {
  std::map<RecordKey, std::string> rows;
  for (const Record& record : read_results(path).records)
    EXPECT_TRUE(rows.emplace(key_of(record), record_to_json(record).dump()).second);
  return rows;
}

class ExtendCli : public testing::Test {
 protected:
  std::string write_config(const std::string& variants, const std::string& shapes,
                           const std::string& chunks = "[16]") {
    const std::string path = folder_.file("c.json");
    std::string tiles;
    if (variants.find("chunk_fused") != std::string::npos)
      tiles = R"("chunk_fused": {"block_v": [128], "chunk": )" + chunks + "}";
    if (variants.find("recurrent") != std::string::npos)
      tiles += std::string(tiles.empty() ? "" : ", ") + R"("recurrent": {"block_v": [64]})";
    std::ofstream(path) << R"({"backend": "host", "sweeps": [{"operator": "gla", "variants": )"
                        << variants << R"(, "dtypes": ["float32"], "shapes": )" << shapes
                        << R"(, "tiles": {)" << tiles << R"(}}], "policy": {"timing":
          {"warmup": 0, "min_samples": 2, "max_samples": 2, "min_seconds": 0}}})";
    return path;
  }
  /// Changes a text of the results file, wherever it stands.
  void plant(const std::string& from, const std::string& to) const {
    std::string text = read_text_file(out_);
    ASSERT_NE(text.find(from), std::string::npos);
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    std::ofstream(out_, std::ios::binary) << text;
  }
  static bool has(const Outcome& outcome, const std::string& text) {
    return outcome.text.find(text) != std::string::npos;
  }

  TemporaryFolder folder_;
  std::string out_ = folder_.file("out.json");
};

TEST_F(ExtendCli, AddsVariantTileAndShapeAndDropsAShape) {
  const std::string first =
      write_config(R"(["chunk_fused"])", "[[1, 20, 2, 8, 4], [1, 9, 1, 8, 4]]");
  ASSERT_EQ(program("verify " + first + " -q -o " + out_).code, 0);
  const auto before = rows_of(out_);
  ASSERT_EQ(before.size(), 2u);
  const std::string more = write_config(R"(["chunk_fused", "recurrent"])",
                                        "[[1, 20, 2, 8, 4], [1, 12, 1, 8, 4]]", "[16, 32]");
  const Outcome resumed = program("run " + more + " -q --resume -o " + out_);
  EXPECT_EQ(resumed.code, 2);
  EXPECT_TRUE(has(resumed, "--extend")) << resumed.text;
  const Outcome extended = program("run " + more + " -q --extend -o " + out_);
  EXPECT_EQ(extended.code, 0) << extended.text;
  EXPECT_TRUE(has(extended, "1 record is kept; 1 that the config no longer asks for is dropped"))
      << extended.text;
  EXPECT_TRUE(has(extended, "1 candidates are recorded already")) << extended.text;
  EXPECT_TRUE(has(extended, "1 records of those are verified only")) << extended.text;
  EXPECT_TRUE(has(extended, "5 measured 1 verified")) << extended.text;
  const auto after = rows_of(out_);
  EXPECT_EQ(after.size(), 6u);
  std::size_t same = 0;  // to the last digit
  for (const auto& [key, row] : before) same += after.contains(key) && after.at(key) == row;
  EXPECT_EQ(same, 1u);
  EXPECT_EQ(read_results(out_).extended.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(journal_path(out_)));
  for (const std::string reader : {"gate --require-fresh ", "report "}) {
    const Outcome read = program(reader + out_);
    EXPECT_EQ(read.code, 0) << read.text;
  }
  EXPECT_TRUE(has(program("report " + out_), ", extended "));
  EXPECT_TRUE(has(program("compare " + out_ + " " + out_), "6 rows"));
}

TEST_F(ExtendCli, MakesWhatIsStaleAgain) {
  const std::string config = write_config(R"(["chunk_fused", "recurrent"])", "[[1, 9, 1, 8, 4]]");
  ASSERT_EQ(program("verify " + config + " -q -o " + out_).code, 0);
  const auto fresh = rows_of(out_);
  for (const Record& record : read_results(out_).records)
    if (record.variant == "recurrent") plant(record.source_hash, "0123456789abcdef");
  ASSERT_EQ(program("gate --require-fresh " + out_).code, 1);
  const Outcome extended = program("verify " + config + " -q --extend -o " + out_);
  EXPECT_EQ(extended.code, 0) << extended.text;
  EXPECT_TRUE(
      has(extended, "1 record is kept; 1 whose sources or verification have changed is made again"))
      << extended.text;
  EXPECT_EQ(program("gate --require-fresh " + out_).code, 0);
  ASSERT_EQ(read_results(out_).extended.size(), 1u);
  EXPECT_EQ(read_results(out_).extended[0].records_stale, 1);
}

TEST_F(ExtendCli, RefusesAnotherDeviceAndBadUsage) {
  ASSERT_EQ(
      program("verify " + write_config(R"(["recurrent"])", "[[1, 9, 1, 8, 4]]") + " -q -o " + out_)
          .code,
      0);
  const std::string device = fact_text(read_results(out_).environment, "device");
  plant("\"device\": \"" + device + "\"", "\"device\": \"another\"");
  const std::string before = read_text_file(out_);
  const std::string more = write_config(R"(["recurrent"])", "[[1, 9, 1, 8, 4], [1, 3, 1, 8, 4]]");
  const Outcome refused = program("verify " + more + " -q --extend -o " + out_);
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(has(refused, "was made on another device (\"another\"")) << refused.text;
  EXPECT_TRUE(has(refused, "so it cannot be extended")) << refused.text;
  EXPECT_EQ(read_text_file(out_), before);
  for (const std::string& other : Strings{"--force", "--resume", "--against " + out_})
    EXPECT_EQ(program("run " + more + " --extend " + other + " -o " + out_).code, 2) << other;
  EXPECT_EQ(program("verify " + more + " --extend").code, 2) << "without -o";
  EXPECT_EQ(read_text_file(out_), before);
}

/// The program, to be killed.
pid_t start(const Strings& arguments, const std::string& log) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int text = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  ::dup2(text, STDOUT_FILENO);
  ::dup2(text, STDERR_FILENO);
  std::vector<char*> list;
  for (const std::string& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  ::execv(places::program, list.data());
  ::_exit(127);
}

TEST_F(ExtendCli, AKillInTheMiddleIsFinishedByResume) {
  ASSERT_EQ(
      program("verify " + write_config(R"(["recurrent"])", "[[1, 9, 1, 8, 4]]") + " -q -o " + out_)
          .code,
      0);
  const auto before = rows_of(out_);
  std::string shapes = "[[1, 9, 1, 8, 4]";
  for (int length = 10; length < 40; ++length)
    shapes += ", [1, " + std::to_string(length) + ", 2, 8, 4]";
  const std::string more =
      write_config(R"(["recurrent", "chunk_fused"])", shapes + "]", "[16, 32]");
  const pid_t child =
      start({places::program, "verify", more, "-q", "--extend", "-o", out_}, folder_.file("log"));
  // Some rows are in the journal, by which the run's progress is told, however busy the machine.
  const std::string journal = journal_path(out_);
  std::error_code none;
  int status = 0;
  bool ended = false;
  while (!(ended = ::waitpid(child, &status, WNOHANG) == child) &&
         !(std::filesystem::file_size(journal, none) > 12'000 && !none))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_FALSE(ended) << read_text_file(folder_.file("log"));
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(Json::accept(read_text_file(out_)));
  const auto half = rows_of(out_);
  EXPECT_GT(half.size(), before.size());
  EXPECT_EQ(half.at(before.begin()->first), before.begin()->second);
  const Outcome resumed = program("verify " + more + " -q --resume -o " + out_);
  EXPECT_EQ(resumed.code, 0) << resumed.text;
  const auto whole = rows_of(out_);
  EXPECT_EQ(whole.size(), 3u * 31u);
  for (const auto& [key, row] : half) EXPECT_EQ(whole.at(key), row) << "made twice";
  EXPECT_EQ(read_results(out_).extended.size(), 1u);
  EXPECT_FALSE(std::filesystem::exists(journal));
  EXPECT_EQ(program("gate --require-fresh " + out_).code, 0);
}

}  // namespace
}  // namespace gla_bench
