#include "core/operator.hpp"

#include <gtest/gtest.h>

namespace gla_bench {
namespace {

TEST(OptionValue, IsOneOfTheAxissOrAnotherNameOfADtypeAmongThem) {
  const OptionAxis dtypes{"state_dtype", {"float32", "bfloat16"}, ""};
  EXPECT_EQ(option_value(dtypes, "bfloat16"), "bfloat16");
  EXPECT_EQ(option_value(dtypes, "bf16"), "bfloat16");
  EXPECT_EQ(option_value(dtypes, "float"), "float32");
  EXPECT_EQ(option_value(dtypes, "half"), std::nullopt);
  const OptionAxis flags{"lse", {"false", "true"}, ""};
  EXPECT_EQ(option_value(flags, "true"), "true");
  EXPECT_EQ(option_value(flags, "bf16"), std::nullopt);
}

}  // namespace
}  // namespace gla_bench
