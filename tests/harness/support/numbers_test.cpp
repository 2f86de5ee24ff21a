#include "harness/support/numbers.hpp"

#include <gtest/gtest.h>

namespace gla_bench {
namespace {

TEST(Numbers, ChangesHaveTheirSign) {
  EXPECT_EQ(format_change(1.034), "+3.40 %");
  EXPECT_EQ(format_change(0.5), "-50.00 %");
  EXPECT_EQ(format_change(1), "+0.00 %");
}

}  // namespace
}  // namespace gla_bench
