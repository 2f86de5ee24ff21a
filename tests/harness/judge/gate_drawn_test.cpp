// What the gate asks of the records of drawn problems.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/config/config.hpp"
#include "harness/judge/gate.hpp"
#include "tests/harness/judge/gated.hpp"

namespace gla_bench {
namespace {

std::vector<Verdict> judge_asked(Results results, const Json& config) {
  results.config = std::make_shared<const Json>(config);
  return gated::judge(results);
}

std::string warnings(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts)
    for (const std::string& warning : verdict.warnings) text += warning + "\n";
  return text;
}

TEST(GateOfDrawnProblems, AsksForThemAsLongAsTheRulesOfDrawingHold) {
  const Json asked = parse_json(
      R"({"sweeps": [{"operator": "toy", "variants": ["slow"], "random": {"problems": 3}}]})", "c");
  const Config config = read_config(JsonNode(asked, "c"), gated::policy().catalog, "");
  Results results;
  results.file = "r.json";
  results.environment["backend"] = std::string("host");
  for (const Problem& problem : config.sweeps[0].drawn.problems)
    results.records.push_back(gated::good()), results.records.back().problem = problem;
  ASSERT_EQ(results.records.size(), 3u);
  Json echo = config_to_json(config);
  EXPECT_EQ(gated::failures(judge_asked(results, echo)), "");
  EXPECT_EQ(warnings(judge_asked(results, echo)), "");
  results.records.pop_back();
  EXPECT_NE(gated::failures(judge_asked(results, echo)).find("no verified record"),
            std::string::npos);
  // Another version of the program drew other problems. Which ones, the file does not say.
  Json& random = echo["sweeps"][0]["random"];
  random["digest"] = "0123456789abcdef";
  EXPECT_EQ(gated::failures(judge_asked(results, echo)), "");
  EXPECT_NE(warnings(judge_asked(results, echo)).find("drawn by other rules"), std::string::npos);
  random.erase("digest");
  EXPECT_EQ(gated::failures(judge_asked(results, echo)), "");
  EXPECT_NE(warnings(judge_asked(results, echo)).find("drawn by other rules"), std::string::npos);
}

}  // namespace
}  // namespace gla_bench
