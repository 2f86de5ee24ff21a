#include "harness/report/t4.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/sample_record.hpp"

namespace gla_bench {
namespace {

Results t4_results(std::vector<Record> records) {
  Results results;
  results.file = "r.json";
  results.environment = {{"device", "toy"},
                         {"backend", "cuda"},
                         {"program_version", "0.1.0"},
                         {"started", "2026-11-21T10:00:00Z"}};
  results.records = std::move(records);
  return results;
}

Json exported(const Record& record) {
  const std::vector<Results> files{t4_results({record})};
  return t4_document(files).at("results").at(0);
}

/// The value of a measurement; null where it is not there.
Json measurement(const Json& result, const std::string& name) {
  for (const Json& entry : result.at("measurements"))
    if (entry.at("name") == name) return entry.at("value");
  return nullptr;
}

TEST(T4, AResultHasConfigurationTimesAndErrors) {
  const Json result = exported(sample_record(7));
  const Json& configuration = result.at("configuration");
  EXPECT_EQ(configuration.at("variant"), "chunk_fused");
  EXPECT_EQ(configuration.at("chunk"), 64);
  EXPECT_EQ(configuration.at("problem_operator"), "gla");
  EXPECT_EQ(configuration.at("problem_key_dim"), 64);
  EXPECT_EQ(configuration.at("problem_seed"), 7);
  EXPECT_EQ(result.at("times").at("runtimes"), Json({1.25, 1.25, 1.25}));
  EXPECT_EQ(result.at("times").at("compilation_time"), 500.0);
  EXPECT_EQ(result.at("objectives"), Json({"time"}));
  EXPECT_EQ(measurement(result, "time"), 1.25);
  EXPECT_EQ(measurement(result, "o.rel_l2"), 1e-4);
  EXPECT_EQ(measurement(result, "o.rel_l2_bound"), 1e-3);
  EXPECT_EQ(measurement(result, "o.max_abs"), 2e-4);
  EXPECT_EQ(measurement(result, "energy"), 0.25);
  EXPECT_EQ(measurement(result, "dram_read_bytes"), 210.0);
  EXPECT_EQ(result.at("invalidity"), "correct");
  EXPECT_EQ(result.at("correctness"), 1);
}

TEST(T4, CorrectnessIsTheVerdict) {
  Record wrong = sample_record(1);
  wrong.status = Status::wrong;
  wrong.verification->ok = false;
  wrong.verification->check = "rel_l2";
  wrong.verification->tensors["o"].rel_l2 = std::numeric_limits<double>::quiet_NaN();
  const Json result = exported(wrong);
  EXPECT_EQ(result.at("correctness"), 0);
  EXPECT_EQ(result.at("invalidity"), "correctness");
  EXPECT_EQ(measurement(result, "o.rel_l2"), "nan");
  EXPECT_EQ(measurement(result, "failed_check"), "rel_l2");
  // A status alone does not make it right.
  Record unverified = sample_record(1);
  unverified.verification.reset();
  EXPECT_EQ(exported(unverified).at("correctness"), 0);
  EXPECT_EQ(exported(unverified).at("invalidity"), "correctness");
}

TEST(T4, EveryKindOfFailureHasItsInvalidity) {
  const std::vector<std::pair<Status, std::string>> cases{
      {Status::rejected, "constraints"}, {Status::build_failed, "compile"},
      {Status::run_failed, "runtime"},   {Status::crashed, "runtime"},
      {Status::timeout, "timeout"},      {Status::wrong, "correctness"}};
  for (const auto& [status, invalidity] : cases) {
    Record record = sample_record(1);
    record.status = status;
    record.reason = "why";
    const Json result = exported(record);
    EXPECT_EQ(result.at("invalidity"), invalidity);
    // It was verified, and then crashed or hung: that does not count.
    EXPECT_EQ(result.at("correctness"), 0) << invalidity;
    EXPECT_EQ(measurement(result, "reason"), "why");
    EXPECT_EQ(measurement(result, "status"), std::string(name(status)));
  }
  Record verified = sample_record(1);
  verified.status = Status::verified;
  verified.timing.reset();
  EXPECT_EQ(exported(verified).at("invalidity"), "correct");
  EXPECT_TRUE(exported(verified).at("times").at("runtimes").empty());
}

TEST(T4, ATimeThatCanNotBeIsNoRuntime) {
  Record suspect = sample_record(1);
  suspect.timing->suspect = true;
  suspect.timing->suspect_check = "floor";
  Record infinite = sample_record(1);
  infinite.timing->cold.samples_ms[1] = std::numeric_limits<double>::infinity();
  for (const Record& record : {suspect, infinite}) {
    const Json result = exported(record);
    EXPECT_EQ(result.at("invalidity"), "runtime");
    EXPECT_EQ(result.at("correctness"), 1);
    EXPECT_TRUE(result.at("times").at("runtimes").empty());
    EXPECT_TRUE(measurement(result, "time").is_null());
    EXPECT_EQ(measurement(result, "suspect_time"), 1.25);
  }
}

TEST(T4, WhatWasNotTriedAndPeersHaveNoResult) {
  Record peer = sample_record(1), built = sample_record(2), left_out = sample_record(3);
  peer.peer = true;
  built.status = Status::built;
  left_out.status = Status::left_out;
  const std::vector<Results> files{t4_results({peer, built, left_out, sample_record(4)})};
  EXPECT_EQ(t4_document(files).at("results").size(), 1u);
}

TEST(T4, MetadataNamesTheDeviceAndFilesOfTwoAreRefused) {
  std::vector<Results> files{t4_results({sample_record(1)}), t4_results({sample_record(2)})};
  files[1].file = "newer.json";
  files[1].environment["started"] = std::string("2026-11-21T11:00:00Z");
  const Json metadata = t4_document(files).at("metadata");
  EXPECT_EQ(metadata.at("device"), "toy");
  EXPECT_EQ(metadata.at("compute_api"), "CUDA");
  EXPECT_EQ(metadata.at("timeunit"), "milliseconds");
  EXPECT_EQ(metadata.at("timestamp"), "2026-11-21T11:00:00Z");
  Record peer = sample_record(3);
  peer.peer = true;
  files.push_back(t4_results({peer}));
  files[2].environment.clear();
  EXPECT_EQ(t4_document(files).at("results").size(), 2u) << "a file of peers has no say";
  files[1].environment["device"] = std::string("other");
  const std::string complaint = error_of([&] { t4_document(files); });
  EXPECT_NE(complaint.find("newer.json: /environment/device: found \"other\", expected \"toy\""),
            std::string::npos)
      << complaint;
}

}  // namespace
}  // namespace gla_bench
