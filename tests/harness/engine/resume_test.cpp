#include "harness/engine/resume.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

Config config(const std::string& seed = "1") {
  const Json document = parse_json(R"({"sweeps": [{"operator": "toy", "variants": ["fast"],
      "dtypes": ["float32"], "shapes": [[1, 8, 2, 4, 4]], "seed": )" +
                                       seed + "}]}",
                                   "c.json");
  return read_config(JsonNode(document, "c.json"), toy::catalog(), "");
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
  EXPECT_EQ(error_of([&] { resume_run(path, this_machine, config(), results, note); }), "no error");
  const std::string error =
      error_of([&] { resume_run(path, this_machine, config("2"), results, note); });
  EXPECT_NE(error.find("/config/sweeps/0/seed: 2 here, 1 there"), std::string::npos) << error;
}

TEST(Resume, NeedsTheSameDeviceButNotTheSameCommit) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json");
  { create_run(path, this_machine, config(), RecordFile::Existing::refuse); }
  Results results;
  std::string note;
  Facts other = this_machine;
  EXPECT_EQ(error_of([&] { resume_run(path, other, config(), results, note); }), "no error");
  EXPECT_EQ(note, "");
  other["git_commit"] = std::string("def");
  EXPECT_EQ(error_of([&] { resume_run(path, other, config(), results, note); }), "no error");
  EXPECT_NE(note.find("begun with commit abc, this is def"), std::string::npos) << note;
  other["device"] = std::string("H200");
  const std::string error = error_of([&] { resume_run(path, other, config(), results, note); });
  EXPECT_NE(error.find("another device (\"toy\", this is \"H200\")"), std::string::npos) << error;
}

TEST(Resume, StartsAFileThatIsNotThere) {
  const TemporaryFolder folder;
  Results results;
  std::string note;
  { resume_run(folder.file("r.json"), this_machine, config(), results, note); }
  EXPECT_TRUE(read_results(folder.file("r.json")).records.empty());
}

}  // namespace
}  // namespace gla_bench
