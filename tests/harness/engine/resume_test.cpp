#include "harness/engine/resume.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/toy_rows.hpp"

namespace gla_bench {
namespace {

Config config(const std::string& seed = "1") {
  const Json document = parse_json(R"({"sweeps": [{"operator": "toy", "variants": ["fast"],
      "dtypes": ["float32"], "shapes": [[1, 8, 2, 4, 4]], "seed": )" +
                                       seed + "}]}",
                                   "c.json");
  return read_config(JsonNode(document, "c.json"), toy::catalog(), "");
}

Place place(const std::string& hash = "1") {
  return toy::place_with(hash);
}

const Facts this_machine{{"backend", "host"}, {"device", "toy"}, {"git_commit", "abc"}};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Resume, NeedsTheSameConfig) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  { create_run(path, this_machine, config(), RecordFile::Existing::refuse); }
  Results results;
  std::string note;
  EXPECT_EQ(error_of([&] {
              resume_run(path, this_machine, config(), toy::catalog(), place(), results, note);
            }),
            "no error");
  const std::string error = error_of(
      [&] { resume_run(path, this_machine, config("2"), toy::catalog(), place(), results, note); });
  EXPECT_NE(error.find("/config/sweeps/0/seed: 2 here, 1 there"), std::string::npos) << error;
}

TEST(Resume, NeedsTheSameDeviceButNotTheSameCommit) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  { create_run(path, this_machine, config(), RecordFile::Existing::refuse); }
  Results results;
  std::string note;
  Facts other = this_machine;
  EXPECT_EQ(
      error_of([&] { resume_run(path, other, config(), toy::catalog(), place(), results, note); }),
      "no error");
  EXPECT_EQ(note, "");
  other["git_commit"] = std::string("def");
  EXPECT_EQ(
      error_of([&] { resume_run(path, other, config(), toy::catalog(), place(), results, note); }),
      "no error");
  EXPECT_NE(note.find("begun with commit abc, this is def"), std::string::npos) << note;
  other["device"] = std::string("H200");
  const std::string error =
      error_of([&] { resume_run(path, other, config(), toy::catalog(), place(), results, note); });
  EXPECT_NE(error.find("another device (\"toy\", this is \"H200\")"), std::string::npos) << error;
}

TEST(Resume, StartsAFileThatIsNotThere) {
  const TemporaryFolder folder;
  Results results;
  std::string note;
  {
    resume_run(folder.file("r.json"), this_machine, config(), toy::catalog(), place(), results,
               note);
  }
  EXPECT_TRUE(read_results(folder.file("r.json")).records.empty());
}

/// A file of the config with a row for each tile, the first of other sources.
std::string file_with_a_stale_row(const TemporaryFolder& folder) {
  const std::string path = folder.file("r.json");
  RecordFile file = create_run(path, this_machine, config(), RecordFile::Existing::refuse);
  std::vector<Record> rows = toy::rows_of(config());
  rows.front().source_hash = "older";
  for (const Record& row : rows) file.append(row);
  file.finish();
  return path;
}

TEST(Resume, MakesRowsOfChangedSourcesAgain) {
  const TemporaryFolder folder;
  const std::string path = file_with_a_stale_row(folder);
  const std::size_t all = read_results(path).records.size();
  ASSERT_GE(all, 2u);
  Results results;
  std::string note;
  {
    resume_run(path, this_machine, config(), toy::catalog(), place(), results, note);
    EXPECT_EQ(results.records.size(), all - 1);
    EXPECT_NE(note.find("1 record is made again, for the sources"), std::string::npos) << note;
  }
  const Results on_disk = read_results(path);
  EXPECT_EQ(on_disk.records.size(), all - 1) << "the stale row is in no file any more";
  ASSERT_EQ(on_disk.extended.size(), 1u);
  EXPECT_EQ(on_disk.extended[0].records_stale, 1);
  EXPECT_EQ(on_disk.extended[0].records_kept, static_cast<std::int64_t>(all) - 1);
  // A second time there is nothing to drop.
  { resume_run(path, this_machine, config(), toy::catalog(), place(), results, note); }
  EXPECT_EQ(note, "");
  EXPECT_EQ(read_results(path).extended.size(), 1u);
}

TEST(Resume, AStaleRowOfASearchTakesItsProblemWithIt) {
  std::vector<Record> rows = toy::rows_of(config());
  for (Record& row : rows) row.search = SearchNote{};
  rows.front().source_hash = "older";
  const std::size_t tried = rows.size();
  rows.push_back(rows.back());
  rows.back().problem.seed = 77;
  EXPECT_EQ(drop_stale(rows, toy::catalog(), place()), tried);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].problem.seed, 77u);
}

TEST(Resume, PeersAndFreshRowsStay) {
  std::vector<Record> rows = toy::rows_of(config());
  rows.push_back(rows.front());
  rows.back().peer = true;
  rows.back().source_hash = "theirs";
  const std::size_t all = rows.size();
  EXPECT_EQ(drop_stale(rows, toy::catalog(), place()), 0u);
  EXPECT_EQ(rows.size(), all);
  EXPECT_EQ(drop_stale(rows, toy::catalog(), place("2")), all - 1);
  EXPECT_EQ(rows.size(), 1u);
}

}  // namespace
}  // namespace gla_bench
