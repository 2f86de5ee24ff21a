// `gla-bench gate` from outside: baselines, tolerances, JUnit, shares; and inputs without an end.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "harness/support/json.hpp"
#include "tests/support/places.hpp"
#include "tests/support/run_program.hpp"
#include "tests/support/temporary_folder.hpp"

namespace gla_bench {
namespace {

class GateCommand : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_.file(name); }

  /// Two small problems of these dtypes; verified with so many seeds into NAME.json.
  std::string verified(const std::string& name, const std::string& dtypes, int seeds,
                       const std::string& policy = "{}") {
    std::ofstream(file("c.json")) << R"({"backend": "host", "sweeps": [{"operator": "gla",
      "variants": ["recurrent", "chunk_fused"], "dtypes": )"
                                  << dtypes << R"(,
      "shapes": [[1, 20, 2, 8, 4]], "max_tiles": 1}], "policy": )"
                                  << policy << "}";
    const Outcome made = program("verify " + file("c.json") + " -q --force --seeds " +
                                 std::to_string(seeds) + " -o " + file(name));
    EXPECT_EQ(made.code, 0) << made.text;
    return file(name);
  }

  TemporaryFolder folder_;
};

TEST_F(GateCommand, ABaselineThatCanNotBeMadeIsRefusedBeforeItSaysPassed) {
  const std::string one = verified("one.json", R"(["float32"])", 1);
  const Outcome outcome = program("gate " + one + " --write-baseline " + file("errors.json"));
  EXPECT_EQ(outcome.code, 2) << outcome.text;
  EXPECT_FALSE(outcome.has("passed")) << outcome.text;
  EXPECT_TRUE(outcome.has("verified records of 3 seeds")) << outcome.text;
  EXPECT_FALSE(std::filesystem::exists(file("errors.json")));
}

TEST_F(GateCommand, ADtypeThatVanishedFailsAndANewOneIsListed) {
  const std::string both = verified("both.json", R"(["float32", "bfloat16"])", 3);
  const std::string errors = file("errors.json");
  ASSERT_EQ(program("gate " + both + " --write-baseline " + errors).code, 0);
  EXPECT_EQ(program("gate " + both + " --baseline " + errors).code, 0);
  const std::string less = verified("less.json", R"(["float32"])", 3);
  const Outcome gone = program("gate " + less + " --baseline " + errors);
  EXPECT_EQ(gone.code, 3) << gone.text;
  EXPECT_TRUE(gone.has("FAIL " + less + ": accuracy of recurrent [host]")) << gone.text;
  EXPECT_TRUE(gone.has("bfloat16")) << gone.text;
  EXPECT_TRUE(gone.has("missing: the baseline has its errors (final_state, o)")) << gone.text;
  EXPECT_EQ(program("gate " + less + " --baseline " + errors + " --allow-missing").code, 0);
  const std::string small = file("small.json");
  ASSERT_EQ(program("gate " + less + " --write-baseline " + small).code, 0);
  const Outcome more = program("gate " + both + " --baseline " + small);
  EXPECT_EQ(more.code, 0) << more.text;
  EXPECT_TRUE(more.has("is not in the baseline")) << more.text;
  EXPECT_TRUE(more.has(" errors of 2 candidates are not in the baseline")) << more.text;
}

TEST_F(GateCommand, ATolerancesFileIsHeldAgainstErrors) {
  const std::string one = verified("one.json", R"(["float32"])", 1);
  Json caps = read_json_file(std::string(places::source_dir) + "/configs/tolerance.json");
  const auto with_cap = [&](double cap) {
    caps["arithmetic"]["float32"]["cap"] = cap;
    std::ofstream(file("caps.json")) << caps.dump();
    return program("gate " + one + " --tolerance " + file("caps.json"));
  };
  // The bound that it was verified by is 1e-6 and more, its error is not.
  const Outcome strict = with_cap(9e-7);
  EXPECT_EQ(strict.code, 0) << strict.text;
  const Outcome stricter = with_cap(1e-9);
  EXPECT_EQ(stricter.code, 1) << stricter.text;
  EXPECT_TRUE(stricter.has("is not at most 1e-09 (the cap)")) << stricter.text;
}

std::set<std::string> names_of(const std::string& xml) {
  std::set<std::string> names;
  const std::regex name("<testcase classname=\"[^\"]*\" name=\"([^\"]*)\"");
  for (std::sregex_iterator at(xml.begin(), xml.end(), name), end; at != end; ++at)
    EXPECT_TRUE(names.insert((*at)[1]).second) << "twice: " << (*at)[1];
  return names;
}

TEST_F(GateCommand, TestsKeepTheirNamesAndHaveTimes) {
  const std::string two = verified("two.json", R"(["float32"])", 2);
  ASSERT_EQ(program("gate " + two + " --junit " + file("a.xml")).code, 0);
  const std::string good = read_text_file(file("a.xml"));
  EXPECT_EQ(names_of(good).size(), 5u) << good;
  EXPECT_TRUE(std::regex_search(good, std::regex("seed=1\" time=\"[0-9]+\\.[0-9]+\""))) << good;
  EXPECT_EQ(good.find("name=\"verified"), std::string::npos);
  // The same rows, one of them wrong.
  Json document = read_json_file(two);
  document["records"][0]["status"] = "wrong";
  std::ofstream(two) << document.dump();
  ASSERT_EQ(program("gate " + two + " --junit " + file("b.xml")).code, 1);
  const std::set<std::string> now = names_of(read_text_file(file("b.xml")));
  for (const std::string& name : names_of(good)) EXPECT_TRUE(now.contains(name)) << name;
}

TEST_F(GateCommand, SharesOfProblemsAreShownAndHeld) {
  // `parallel_cublas` takes 2^17 tokens at most.
  const std::string config = file("c.json");
  const auto gated = [&](const std::string& policy) {
    std::ofstream(config) << R"({"backend": "host", "sweeps": [{"operator": "gla",
      "variants": ["recurrent", "parallel_cublas"], "refusals_allowed": true, "dtypes": ["float32"],
      "max_tiles": 1, "shapes": [[1, 20, 1, 4, 4], [1, 131073, 1, 4, 4]]}], "policy": )"
                          << policy << "}";
    const Outcome made = program("verify " + config + " -q --force -o " + file("r.json"));
    EXPECT_EQ(made.code, 0) << made.text;
    return program("gate " + file("r.json"));
  };
  const Outcome shown = gated("{}");
  EXPECT_EQ(shown.code, 0) << shown.text;
  const std::string line = "took 1 of 2 problems (50 %): parallel_cublas [host] of gla forward";
  EXPECT_TRUE(shown.has(line)) << shown.text;
  EXPECT_FALSE(shown.has("recurrent [host] of gla")) << shown.text;
  EXPECT_TRUE(program("report " + file("r.json")).has(line));
  EXPECT_TRUE(program("report " + file("r.json") + " --markdown").has("| 1 | 2 | 50 % |"));
  EXPECT_EQ(gated(R"({"least_share": {"parallel_cublas": 0.5}})").code, 0);
  const Outcome below = gated(R"({"least_share": {"parallel_cublas": 0.9}})");
  EXPECT_EQ(below.code, 1) << below.text;
  EXPECT_TRUE(below.has("the policy asks for a share of 0.9")) << below.text;
}

TEST(EndlessInput, EndsWithAClearError) {
  for (const std::string arguments :
       {"plan /dev/zero", "verify /dev/zero", "tune --tuned /dev/zero --export-header /dev/null",
        "gate --tolerance /dev/zero x.json"}) {
    const Outcome outcome = program(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << ": " << outcome.text;
    EXPECT_TRUE(outcome.has("/dev/zero: found more than 67108864 bytes"))
        << arguments << ": " << outcome.text;
  }
  const Outcome results = program("gate /dev/zero");
  EXPECT_EQ(results.code, 2) << results.text;
  EXPECT_TRUE(results.has("/dev/zero: found more than 1073741824 bytes")) << results.text;
}

}  // namespace
}  // namespace gla_bench
