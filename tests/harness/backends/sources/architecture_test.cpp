#include "harness/backends/sources/architecture.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace gla_bench {
namespace {

TEST(Architecture, NamesGoBothWays) {
  for (int arch : {80, 86, 89, 90, 100, 120})
    EXPECT_EQ(parse_architecture(architecture_name(arch)), arch);
  EXPECT_EQ(architecture_name(80), "sm_80");
  EXPECT_EQ(architecture_name(90), "sm_90a");
  EXPECT_EQ(parse_architecture("sm_90"), 90);
}

TEST(Architecture, RefusesWhatIsNone) {
  for (const char* text :
       {"", "90", "sm_", "sm_a", "sm_9x", "sm_70", "sm_900", "sm_80,sm_90", "SM_80"})
    EXPECT_EQ(parse_architecture(text), std::nullopt) << text;
}

TEST(Architecture, ReadsLists) {
  EXPECT_EQ(parse_architectures("sm_80,sm_90a"), (std::vector<int>{80, 90}));
  EXPECT_EQ(parse_architectures("sm_89"), (std::vector<int>{89}));
  for (const char* text : {"", "sm_80,", ",sm_80", "sm_80,hopper"})
    EXPECT_THROW(parse_architectures(text), InputError) << text;
}

TEST(Architecture, LimitsAreTheOptInMaxima) {
  EXPECT_EQ(limits_of(80).shared_per_block, 163u * 1024);
  EXPECT_EQ(limits_of(86).shared_per_block, 99u * 1024);
  EXPECT_EQ(limits_of(89).shared_per_block, 99u * 1024);
  EXPECT_EQ(limits_of(90).shared_per_block, 227u * 1024);
  EXPECT_EQ(limits_of(100).shared_per_block, 227u * 1024);
  EXPECT_EQ(limits_of(120).shared_per_block, 99u * 1024);
  EXPECT_EQ(limits_of(90).arch, 90);
}

}  // namespace
}  // namespace gla_bench
