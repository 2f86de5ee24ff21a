// Shards and their merge as a user meets them.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/records/record_file.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

class ShardCommand : public testing::Test {
 protected:
  void SetUp() override { write_config("[[1, 9, 1, 8, 4], [1, 5, 2, 4, 4], [1, 17, 1, 4, 8]]"); }

  void write_config(const std::string& shapes) {
    std::ofstream(config_) << R"({"backend": "host", "sweeps": [{"operator": "gla",
        "variants": ["recurrent", "chunk_fused"], "dtypes": ["float32"], "max_tiles": 2,
        "shapes": )" << shapes
                           << R"(}], "policy": {"timing": {"warmup": 0, "min_samples": 2,
        "max_samples": 2, "min_seconds": 0}}})";
  }
  std::string part(int number) const {
    return folder_.file("part-" + std::to_string(number) + ".json");
  }
  Outcome verify(int number, const std::string& more = "", const std::string& shards = "2") {
    return program("verify " + config_ + " -q --shard " + std::to_string(number) + "/" + shards +
                   " -o " + part(number) + " " + more);
  }
  Outcome merge(const std::string& more = "") {
    return program("merge " + part(1) + " " + part(2) + " -o " + whole_ + " " + more);
  }
  /// Rows without what differs from run to run, in the file's order.
  static std::vector<std::string> rows_of(const std::string& path) {
    std::vector<std::string> rows;
    for (const Record& record : read_results(path).records) {
      Json json = parse_json(record_line(record), path);
      json.erase("seconds");
      rows.push_back(json.dump());
    }
    return rows;
  }

  TemporaryFolder folder_;
  std::string config_ = folder_.file("c.json"), whole_ = folder_.file("whole.json");
};

TEST_F(ShardCommand, WorkersBesideEachOtherBringTheRowsOfOne) {
  const std::string one = folder_.file("one.json"), two = folder_.file("two.json");
  ASSERT_EQ(program("verify " + config_ + " -q --backend host --workers 1 -o " + one).code, 0);
  const Outcome outcome = program("verify " + config_ + " -q --backend host --workers 3 -o " + two);
  ASSERT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_TRUE(outcome.has(", 3 of them")) << outcome.text;
  EXPECT_EQ(rows_of(one), rows_of(two)) << "in their order";
  EXPECT_EQ(fact_number(read_results(two).environment, "workers"), 3);
  EXPECT_FALSE(read_results(one).environment.contains("workers"));
}

TEST_F(ShardCommand, SeveralWorkersAreForTheHost) {
  const Outcome outcome = program("verify " + config_ + " --backend cuda --workers 2");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(outcome.has("is not in this program") ||
              outcome.has("--workers: found 2 for the backend cuda, expected 1 there"))
      << outcome.text;
  EXPECT_EQ(program("verify " + config_ + " --gpus 0 --workers 2").code, 2);
  EXPECT_EQ(program("run " + config_ + " --workers 2").code, 2) << "what is timed needs the host";
}

TEST_F(ShardCommand, ShardsMergeToTheRowsOfOneRun) {
  const std::string one = folder_.file("one.json");
  ASSERT_EQ(program("verify " + config_ + " -q -o " + one).code, 0);
  for (const int number : {1, 2}) {
    const Outcome outcome = verify(number);
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_TRUE(outcome.has("shard " + std::to_string(number) + "/2 on ")) << outcome.text;
  }
  const Outcome merged = merge();
  ASSERT_EQ(merged.code, 0) << merged.text;
  EXPECT_TRUE(merged.has("records of 2 shards")) << merged.text;
  EXPECT_EQ(rows_of(whole_), rows_of(one));
  EXPECT_EQ(program("gate " + whole_).code, 0);
  EXPECT_EQ(merge().code, 2) << "an output that is there is not replaced";
  EXPECT_EQ(merge("--force").code, 0);
}

TEST_F(ShardCommand, WhatIsMissingIsSaidAndNothingIsWritten) {
  ASSERT_EQ(verify(1).code, 0);
  const Outcome one = program("merge " + part(1) + " -o " + whole_);
  EXPECT_EQ(one.code, 1) << one.text;
  EXPECT_TRUE(one.has("there is no file of shard 2 of 2")) << one.text;
  EXPECT_FALSE(std::filesystem::exists(whole_));
  EXPECT_EQ(program("merge " + part(1) + " -o " + part(1) + " --force").code, 2)
      << "what is read is not replaced";
  EXPECT_EQ(program("merge " + part(1) + " " + part(2) + " -o " + whole_).code, 2);
  std::ofstream(part(2)) << "{";
  const Outcome broken = merge();
  EXPECT_EQ(broken.code, 2);
  EXPECT_TRUE(broken.has(part(2))) << broken.text;
}

TEST_F(ShardCommand, AnotherShardsFileIsNotContinued) {
  ASSERT_EQ(verify(1).code, 0);
  const std::string before = read_text_file(part(1));
  for (const std::string how : {"--resume", "--extend"}) {
    const Outcome other =
        program("verify " + config_ + " -q --shard 2/2 -o " + part(1) + " " + how);
    EXPECT_EQ(other.code, 2);
    EXPECT_TRUE(other.has("is of shard 1/2, this is shard 2/2")) << other.text;
    const Outcome all = program("verify " + config_ + " -q -o " + part(1) + " " + how);
    EXPECT_EQ(all.code, 2);
    EXPECT_TRUE(all.has("is of shard 1/2, this is all problems")) << all.text;
  }
  EXPECT_EQ(read_text_file(part(1)), before);
  const Outcome again = verify(1, "--resume");
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_FALSE(again.has(" 0 candidates are recorded already")) << again.text;
}

TEST_F(ShardCommand, AShardThatLostItsRowsIsNamedAndCompleted) {
  for (const int number : {1, 2}) ASSERT_EQ(verify(number).code, 0);
  Results results = read_results(part(2));
  std::vector<std::string> lines;
  for (std::size_t i = 1; i < results.records.size(); ++i)
    lines.push_back(record_line(results.records[i]));
  std::ofstream(part(2)) << results_text(results, lines);
  const Outcome missing = merge();
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(missing.has("shard 2/2 on ")) << missing.text;
  EXPECT_TRUE(missing.has("candidates are missing")) << missing.text;
  EXPECT_EQ(verify(2, "--resume").code, 0);
  EXPECT_EQ(merge().code, 0);
}

TEST_F(ShardCommand, ExtendedShardsMergeToTheRowsOfTheNewConfig) {
  for (const int number : {1, 2}) ASSERT_EQ(verify(number).code, 0);
  write_config(
      "[[1, 9, 1, 8, 4], [1, 5, 2, 4, 4], [1, 17, 1, 4, 8], [1, 33, 1, 4, 8], [2, 7, 1, 4, 4]]");
  for (const int number : {1, 2}) {
    const Outcome outcome = verify(number, "--extend");
    EXPECT_EQ(outcome.code, 0) << outcome.text;
  }
  ASSERT_EQ(merge().code, 0);
  const std::string one = folder_.file("one.json");
  ASSERT_EQ(program("verify " + config_ + " -q -o " + one).code, 0);
  auto merged = rows_of(whole_), alone = rows_of(one);
  std::sort(merged.begin(), merged.end());
  std::sort(alone.begin(), alone.end());
  EXPECT_EQ(merged, alone);
}

TEST_F(ShardCommand, AShardWithoutProblemsIsDone) {
  for (int number = 1; number <= 5; ++number) {
    const Outcome outcome = verify(number, "", "5");
    EXPECT_EQ(outcome.code, 0) << outcome.text;
  }
  std::string parts;
  for (int number = 1; number <= 5; ++number) parts += part(number) + " ";
  EXPECT_EQ(program("merge " + parts + "-o " + whole_).code, 0);
}

TEST_F(ShardCommand, ASearchIsShardedToo) {
  for (const int number : {1, 2}) {
    const Outcome outcome =
        program("tune " + config_ + " -q --strategy exhaustive --shard " + std::to_string(number) +
                "/2 -o " + part(number) + " --tuned " + folder_.file("table.json"));
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_TRUE(outcome.has("a shard makes no tuned table")) << outcome.text;
  }
  ASSERT_EQ(merge().code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("table.json")));
  const Outcome table = program("tune --from " + whole_ + " -o " + folder_.file("table.json"));
  EXPECT_EQ(table.code, 0) << table.text;
}

TEST_F(ShardCommand, AutoIsWhatSlurmAndMpiSay) {
  const std::string clean =
      "env -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u SLURM_JOB_ID -u SLURM_PROCID ";
  const auto with = [&](const std::string& variables, const std::string& output) {
    return program("--version >/dev/null; " + clean + variables + " " + places::program +
                   " verify " + config_ + " -q --shard auto -o " + output);
  };
  const std::string output = folder_.file("part-{shard}.json");
  EXPECT_TRUE(with("", output).has("--shard auto: found no task"));
  const Outcome array =
      with("SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_COUNT=2 SLURM_JOB_ID=7",
           output);
  EXPECT_EQ(array.code, 0) << array.text;
  EXPECT_EQ(fact_text(read_results(part(2)).environment, "shard"), "2/2");
  const std::string rank = "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2";
  EXPECT_EQ(with(rank, output).code, 0);
  EXPECT_EQ(merge().code, 0);
  const Outcome shared = with(rank, folder_.file("part.json"));
  EXPECT_EQ(shared.code, 2);
  EXPECT_TRUE(shared.has("expected {shard} in it")) << shared.text;
  EXPECT_EQ(program("verify " + config_ + " --shard 0/2").code, 2);
  EXPECT_EQ(program("verify " + config_ + " --shard some").code, 2);
}

}  // namespace
}  // namespace gla_bench
