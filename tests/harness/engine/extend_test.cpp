#include "harness/engine/extend.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/engine/resume.hpp"
#include "harness/support/atomic_file.hpp"
#include "tests/support/sample_record.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/toy_rows.hpp"

namespace gla_bench {
namespace {

using toy::config_of;
using toy::Names;
using toy::names_of;
using toy::place_with;
using toy::rows_of;
using toy::work_of;

const Facts here{{"backend", "host"},   {"device", "toy"},   {"git_commit", "abc"},
                 {"git_dirty", false},  {"driver", "580.1"}, {"started", "first"},
                 {"copy_gb_per_s", 4.0}};

Facts later(const std::string& commit = "abc") {
  Facts facts = here;
  facts["started"] = "later";
  facts["git_commit"] = commit;
  facts["copy_gb_per_s"] = 5.0;
  return facts;
}

class Extend : public testing::Test {
 protected:
  void write(const Config& config, bool finish = true) {
    RecordFile file = create_run(path_, here, config, RecordFile::Existing::replace);
    for (const Record& row : rows_of(config)) file.append(row);
    if (finish) file.finish();
  }
  RecordFile extend(const Config& config, const Facts& environment = later()) {
    const auto work = work_of(config, place_);
    return extend_run(path_, environment, config,
                      asked_of(config, toy::catalog(), place_, nullptr, std::span(work)), place_,
                      results_, note_);
  }
  void expect_refused(const std::string& why, const Config& config,
                      const Facts& environment = later()) {
    const std::string before = read_text_file(path_);
    const std::string error = error_of([&] { extend(config, environment); });
    EXPECT_NE(error.find(path_), std::string::npos) << error;
    EXPECT_NE(error.find(why), std::string::npos) << error;
    EXPECT_EQ(read_text_file(path_), before);
    EXPECT_FALSE(std::filesystem::exists(journal_path(path_)));
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("r.json");
  Place place_ = place_with();
  Results results_;
  std::string note_;
};

TEST_F(Extend, TheFileIsOfTheNewConfigAndTheOldEnvironment) {
  write(config_of(R"(["fast", "slow"])", {5, 8}, "[16]"));
  place_.source_hash = [](const Variant& variant) {
    return variant.name + (variant.name == "slow" ? "2" : "1");
  };
  const Config more = config_of(R"(["fast", "slow"])", {8});
  extend(more, later("def")).finish();
  const Results file = read_results(path_);
  EXPECT_EQ(*file.config, config_to_json(more));
  EXPECT_EQ(file.environment, here);
  EXPECT_EQ(names_of(file.records), (Names{"fast 8 chunk=16"}));
  ASSERT_EQ(file.extended.size(), 1u);
  const Extension& extension = file.extended[0];
  EXPECT_EQ(extension.git_commit, "def");
  EXPECT_FALSE(extension.git_dirty);
  EXPECT_EQ(extension.driver, "580.1");
  EXPECT_EQ(extension.started, "later");
  EXPECT_EQ(extension.records_kept, 1);
  EXPECT_EQ(extension.records_dropped, 2);
  EXPECT_EQ(extension.records_stale, 1);
  EXPECT_EQ(names_of(results_.records), names_of(file.records));
  EXPECT_EQ(results_.environment, here);
  for (const char* part : {"1 record is kept", "2 that the config no longer asks for are dropped",
                           "1 whose sources or verification have changed is made again",
                           "commit abc, driver", "commit def, driver"})
    EXPECT_NE(note_.find(part), std::string::npos) << part << " is not in: " << note_;
}

TEST_F(Extend, AnExtensionNamesItsGpu) {
  const Config config = config_of(R"(["slow"])", {5});
  write(config);
  Facts other = here;
  other["uuid"] = "GPU-2";
  extend(config, other).finish();  // nothing new, but by another one of the same model
  const Results file = read_results(path_);
  ASSERT_EQ(file.extended.size(), 1u);
  EXPECT_EQ(file.extended[0].uuid, "GPU-2");
  EXPECT_NE(note_.find("driver 580.1, GPU-2"), std::string::npos) << note_;
  // Files from before it was kept have none.
  EXPECT_EQ(read_extensions(JsonNode(Json::parse(R"([{"git_commit": "abc", "git_dirty": false,
      "started": "", "driver": "", "records_kept": 0, "records_dropped": 0, "records_stale": 0}])"),
                                     "old.json"))[0]
                .uuid,
            "");
}

TEST_F(Extend, AListOfExtensionsStaysAndGrows) {
  write(config_of(R"(["slow"])", {5}));
  extend(config_of(R"(["slow"])", {5, 8})).finish();
  extend(config_of(R"(["slow"])", {5, 8})).finish();  // the same, by the same program
  EXPECT_EQ(read_results(path_).extended.size(), 1u);
  extend(config_of(R"(["slow"])", {5, 8}), later("def")).finish();
  extend(config_of(R"(["slow"])", {5, 8, 9}), later("def")).finish();
  EXPECT_EQ(read_results(path_).extended.size(), 3u);
  {
    note_.clear();
    resume_run(path_, later("def"), config_of(R"(["slow"])", {5, 8, 9}), toy::catalog(),
               place_with(), results_, note_)
        .finish();
  }
  EXPECT_EQ(note_, "") << "it was extended with this commit";
  ASSERT_EQ(read_results(path_).extended.size(), 3u);
  EXPECT_EQ(read_results(path_).extended[1].git_commit, "def");
}

TEST_F(Extend, WhatOnlyTheJournalHasIsTakenOver) {
  write(config_of(R"(["fast"])", {5, 8}, "[16]"), false);
  ASSERT_TRUE(read_results(path_).unfinished);
  extend(config_of(R"(["fast"])", {8}));  // not finished either
  const Results file = read_results(path_);
  EXPECT_EQ(names_of(file.records), (Names{"fast 8 chunk=16"}));
  ASSERT_TRUE(file.unfinished);
  EXPECT_EQ(file.unfinished->fault, "") << "its journal is of the new config";
}

TEST_F(Extend, AFileThatIsNotThereIsMade) {
  { extend(config_of(R"(["slow"])", {5})); }
  EXPECT_TRUE(read_results(path_).records.empty());
  EXPECT_TRUE(read_results(path_).extended.empty());
}

TEST_F(Extend, RefusesAnotherPlaceAndLeavesTheFile) {
  const Config config = config_of(R"(["slow"])", {5});
  write(config);
  for (const char* key : {"device", "backend"}) {
    Facts other = later();
    other[key] = "H200";
    expect_refused("was made on another " + std::string(key) + " (\"", config, other);
  }
}

TEST_F(Extend, RefusesAnotherPolicyOfMeasuring) {
  write(config_of(R"(["slow"])", {5}));
  expect_refused(
      "/config/policy/timing/warmup: 9 here, 3 there",
      config_of(R"(["slow"])", {5, 8}, "[16]", R"(, "policy": {"timing": {"warmup": 9}})"));
  // How long a step may take is nothing that a row shows.
  EXPECT_NO_THROW(extend(
      config_of(R"(["slow"])", {5, 8}, "[16]", R"(, "policy": {"limits": {"least_seconds": 9}})")));
}

TEST_F(Extend, RefusesAConfigThatAsksForNothingOfIt) {
  write(config_of(R"(["slow"])", {5, 8}));
  expect_refused("asks for none of its 2 records", config_of(R"(["fast"])", {5, 8}));
}

TEST_F(Extend, RefusesRowsThatBelongTogether) {
  const Config config = config_of(R"(["slow"])", {5});
  const auto with = [&](const std::function<void(Record&)>& change) {
    RecordFile file = create_run(path_, here, config, RecordFile::Existing::replace);
    Record row = rows_of(config).front();
    change(row);
    file.append(row);
    file.finish();
  };
  with([](Record& row) { row.search = SearchNote{"halving", "end", 1}; });
  expect_refused("has rows of a search", config);
  with([](Record& row) { row.against = sample_record(1).against; });
  expect_refused("has rows of rounds", config);
  with([](Record& row) { row.peer = true; });
  expect_refused("has rows of a peer", config);
}

// Nothing can be written under the temporary name.
TEST_F(Extend, AFileThatCanNotBeReplacedStaysAsItWas) {
  for (const bool finished : {true, false}) {
    write(config_of(R"(["slow"])", {5, 8}), finished);
    std::filesystem::create_directory(temporary_name(path_));
    const std::string error = error_of([&] { extend(config_of(R"(["slow"])", {8})); });
    EXPECT_NE(error.find("cannot be written"), std::string::npos) << error;
    EXPECT_EQ(names_of(read_results(path_).records), (Names{"slow 5", "slow 8"}));
    EXPECT_EQ(read_results(path_).unfinished.has_value(), !finished);
    std::filesystem::remove(temporary_name(path_));
  }
}

TEST_F(Extend, ABadListOfExtensionsIsRefusedByPointer) {
  write(config_of(R"(["slow"])", {5}));
  extend(config_of(R"(["slow"])", {5, 8})).finish();
  std::string text = read_text_file(path_);
  const std::string good = "\"records_kept\": 1";
  text.replace(text.find(good), good.size(), "\"records_kept\": -1");
  std::ofstream(path_, std::ios::binary) << text;
  const std::string error = error_of([&] { read_results(path_); });
  EXPECT_NE(error.find("/extended/0/records_kept"), std::string::npos) << error;
}

TEST_F(Extend, ResumeNamesItWhereTheConfigIsAnother) {
  write(config_of(R"(["slow"])", {5}));
  const std::string error = error_of([&] {
    resume_run(path_, here, config_of(R"(["slow"])", {8}), toy::catalog(), place_with(), results_,
               note_);
  });
  EXPECT_NE(error.find("--extend"), std::string::npos) << error;
}

}  // namespace
}  // namespace gla_bench
