#include "harness/judge/accuracy/accuracy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace gla_bench {
namespace {

Record verified(std::uint64_t seed, double error) {
  Record record;
  record.problem.op = "gla";
  record.problem.seed = seed;
  record.variant = "chunk";
  record.tile = {{"chunk", 64}};
  record.status = Status::verified;
  record.verification = Verification{};
  record.verification->ok = true;
  record.verification->tensors["o"] = {error, error, error, 4e-3, 4e-3, 4e-3, 1e-3, {}, true};
  return record;
}

std::vector<std::string> losses(const Record& record, const AccuracyBaseline& baseline) {
  std::size_t unknown = 0;
  return accuracy_losses(record, baseline, unknown);
}

const AccuracyBaseline three = accuracy_baseline(
    std::vector<Record>{verified(1, 1e-3), verified(2, 1.2e-3), verified(3, 1.1e-3)});

TEST(Accuracy, TheLimitIsTheHighestAndTheSpread) {
  ASSERT_EQ(three.size(), 3U);  // metrics
  EXPECT_NEAR(three.begin()->second.limit(), 1.4e-3, 1e-12);
  EXPECT_TRUE(losses(verified(7, 1.39e-3), three).empty());
  EXPECT_EQ(losses(verified(7, 1.41e-3), three).size(), 3U);
  EXPECT_EQ(losses(verified(7, std::nan("")), three).size(), 3U);
}

TEST(Accuracy, SeedsThatAgreeLeaveAHundredthOfTheBound) {
  const auto equal = accuracy_baseline(
      std::vector<Record>{verified(1, 1e-3), verified(2, 1e-3), verified(3, 1e-3)});
  EXPECT_TRUE(losses(verified(1, 1.03e-3), equal).empty());
  EXPECT_FALSE(losses(verified(1, 1.05e-3), equal).empty());
}

TEST(Accuracy, OneMetricOfOneTensorIsEnough) {
  Record record = verified(1, 1e-3);
  record.verification->tensors["o"].max_abs = 2e-3;
  const auto found = losses(record, three);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], "o: max_abs 0.002 is above 0.0014: it was 0.001 to 0.0012 over 3 seeds");
}

TEST(Accuracy, FewSeedsOtherTilesAndUnknownRowsAreCounted) {
  const auto two = accuracy_baseline(std::vector<Record>{verified(1, 1e-3), verified(2, 1e-3)});
  std::size_t unknown = 0;
  EXPECT_TRUE(accuracy_losses(verified(1, 1), two, unknown).empty());
  EXPECT_EQ(unknown, 3U);
  Record other = verified(1, 1);
  other.tile["chunk"] = 32;
  EXPECT_TRUE(accuracy_losses(other, three, unknown).empty());
  EXPECT_EQ(unknown, 6U);
}

TEST(Accuracy, WhatIsWrongOrAPeersIsNoBaseline) {
  Record wrong = verified(1, 1);
  wrong.verification->ok = false;
  Record peer = verified(1, 1);
  peer.peer = true;
  EXPECT_TRUE(accuracy_baseline(std::vector<Record>{wrong, peer}).empty());
}

TEST(Accuracy, SurvivesTheWayThereAndBack) {
  const Json json = accuracy_to_json(three);
  EXPECT_EQ(json["rows"].size(), 1U);
  const AccuracyBaseline back = read_accuracy(JsonNode(json, "b.json"));
  EXPECT_EQ(accuracy_to_json(back).dump(), json.dump());
  EXPECT_EQ(losses(verified(7, 1.41e-3), back).size(), 3U);
}

std::string error_of(const Json& json) {
  try {
    read_accuracy(JsonNode(json, "b.json"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Accuracy, OtherFilesAreErrors) {
  Json json = accuracy_to_json(three);
  json["rows"][0]["errors"]["o"]["rel_l2"]["highest"] = 0;
  EXPECT_NE(error_of(json).find("b.json: /rows/0/errors/o/rel_l2/highest"), std::string::npos)
      << error_of(json);
  json = accuracy_to_json(three);
  json["rows"][0]["seed"] = 1;
  EXPECT_NE(error_of(json).find("/rows/0/seed"), std::string::npos) << error_of(json);
  json = accuracy_to_json(three);
  json["rows"][0]["sped"] = 1;
  EXPECT_NE(error_of(json).find("/rows/0/sped"), std::string::npos) << error_of(json);
  json["accuracy_version"] = 2;
  EXPECT_NE(error_of(json).find("/accuracy_version"), std::string::npos) << error_of(json);
}

}  // namespace
}  // namespace gla_bench
