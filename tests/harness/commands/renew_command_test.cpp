// `gla-bench renew`, through the program itself.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

class RenewCommand : public testing::Test {
 protected:
  /// A run whose rows say that something else verified them, and a verification of today.
  void SetUp() override {
    std::ofstream(config_) << R"({"backend": "host", "sweeps": [{"operator": "gla",
      "variants": ["recurrent", "chunk_fused"], "dtypes": ["float32"], "max_tiles": 1,
      "shapes": [[1, 9, 1, 8, 4]]}],
      "policy": {"timing": {"warmup": 0, "min_samples": 2, "max_samples": 2, "min_seconds": 0}}})";
    ASSERT_EQ(program("run " + config_ + " -q -o " + old_).code, 0);
    ASSERT_EQ(program("verify " + config_ + " -q -o " + verified_).code, 0);
    std::string text = read_text_file(old_);
    const std::string member = "\"verifier_hash\":\"";
    for (std::size_t at = text.find(member); at != std::string::npos; at = text.find(member, at))
      text.replace(at += member.size(), 4, "0000");
    std::ofstream(old_) << text;
  }

  Outcome renew(const std::string& more = "") const {
    return program("renew " + old_ + " --verified " + verified_ + " -o " + old_ + " " + more);
  }

  TemporaryFolder folder_;
  std::string config_ = folder_.file("c.json"), old_ = folder_.file("old.json"),
              verified_ = folder_.file("verified.json");
};

TEST_F(RenewCommand, MakesStaleRowsFreshAndKeepsTheirTimes) {
  EXPECT_EQ(program("gate --require-fresh " + old_).code, 1);
  const Results before = read_results(old_);
  const Outcome outcome = renew("--force");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_TRUE(outcome.has("2 rows have a newer verdict, 0 had it already, 0 do not"))
      << outcome.text;
  EXPECT_EQ(program("gate --require-fresh " + old_).code, 0);
  const Results after = read_results(old_);
  ASSERT_EQ(after.records.size(), before.records.size());
  for (std::size_t i = 0; i < after.records.size(); ++i) {
    if (!before.records[i].timing) continue;
    EXPECT_EQ(after.records[i].status, Status::measured);
    EXPECT_EQ(after.records[i].timing->cold.samples_ms, before.records[i].timing->cold.samples_ms);
  }
  ASSERT_EQ(after.extended.size(), 1u);
  EXPECT_EQ(after.extended[0].records_renewed, 2);
  EXPECT_TRUE(renew("--force").has("0 rows have a newer verdict, 2 had it already, 0 do not"));
}

TEST_F(RenewCommand, ReplacesNothingThatItWasNotToldTo) {
  const std::string before = read_text_file(old_);
  EXPECT_EQ(renew().code, 2) << "without --force";
  EXPECT_EQ(program("renew " + old_ + " --verified " + verified_ + " --force -o " + verified_).code,
            2);
  EXPECT_EQ(program("renew " + old_ + " --verified " + config_ + " -o " + old_ + " --force").code,
            2);
  EXPECT_EQ(read_text_file(old_), before);
}

TEST_F(RenewCommand, TakesNoFileWhoseRunHasNotEnded) {
  for (const std::string& path : {old_, verified_}) {
    std::ofstream(path + ".journal") << "{}\n";
    const Outcome outcome = renew("--force");
    EXPECT_EQ(outcome.code, 2) << outcome.text;
    EXPECT_TRUE(outcome.has(path + ": has a journal beside it")) << outcome.text;
    std::filesystem::remove(path + ".journal");
  }
  EXPECT_EQ(renew("--force").code, 0);
}

}  // namespace
}  // namespace gla_bench
