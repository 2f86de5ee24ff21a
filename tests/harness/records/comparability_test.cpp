#include "harness/records/comparability.hpp"

#include <gtest/gtest.h>

namespace gla_bench {
namespace {

const Facts h200{{"device", "NVIDIA H200"}, {"driver", "580.1"},       {"power_limit_watts", 700.0},
                 {"git_commit", "a"},       {"started", "2026-08-01"}, {"copy_gb_per_s", 4267.0}};

Severity severity_of(const std::string& key, const Fact& value) {
  Facts other = h200;
  other[key] = value;
  const auto list = differences(h200, other);
  EXPECT_EQ(list.size(), 1U);
  EXPECT_EQ(list.at(0).key, key);
  return list.at(0).severity;
}

TEST(Comparability, FollowsTheTable) {
  EXPECT_TRUE(differences(h200, h200).empty());
  EXPECT_EQ(severity_of("device", "NVIDIA H100"), Severity::refuse);
  EXPECT_EQ(severity_of("power_limit_watts", 500.0), Severity::refuse);
  EXPECT_EQ(severity_of("driver", "581.0"), Severity::label);
  EXPECT_EQ(severity_of("git_commit", "b"), Severity::note);
}

TEST(Comparability, EachRuleStandsOnceAndTheSeverestFirst) {
  Severity before = Severity::refuse;
  for (const ComparabilityRule& rule : comparability_rules()) {
    EXPECT_LE(rule.severity, before) << rule.key;
    before = rule.severity;
    Facts one, two;
    one[std::string(rule.key)] = 1.0;
    two[std::string(rule.key)] = 10.0;
    EXPECT_EQ(differences(one, two).size(), 1U) << rule.key;
    EXPECT_EQ(differences(one, two)[0].severity, rule.severity) << rule.key;
  }
}

TEST(Comparability, WhatIsMeasuredOrDatedDoesNotMatter) {
  Facts other = h200;
  other["started"] = std::string("2026-08-02");
  other["copy_gb_per_s"] = 4000.0;
  EXPECT_TRUE(differences(h200, other).empty());
}

TEST(Comparability, WhatACallTakesAtLeastMattersBeyondItsNoise) {
  Facts base = h200, fresh = h200;
  base["least_call_us"] = 2.4;
  EXPECT_TRUE(differences(base, fresh).empty());  // older files do not say
  EXPECT_TRUE(differences(fresh, base).empty());
  fresh["least_call_us"] = 2.6;
  EXPECT_TRUE(differences(base, fresh).empty());
  fresh["least_call_us"] = 3.9;
  const auto list = differences(base, fresh);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].severity, Severity::label);
  EXPECT_EQ(describe(list[0]),
            "least_call_us: 2.4 before, 3.9 now (every cold call takes so much by the clock, even "
            "one that does nothing)");
}

TEST(Comparability, TheUnknownAndTheAllowedAreLabels) {
  Facts other = h200;
  other.erase("power_limit_watts");
  ASSERT_EQ(differences(h200, other).size(), 1U);
  EXPECT_EQ(differences(h200, other)[0].severity, Severity::label);
  EXPECT_EQ(
      describe(differences(h200, other)[0]),
      "power_limit_watts: 700 before, unknown now (the power cap sets the clocks under load)");
  other["power_limit_watts"] = 500.0;
  EXPECT_EQ(differences(h200, other, {"power_limit_watts"})[0].severity, Severity::label);
}

}  // namespace
}  // namespace gla_bench
