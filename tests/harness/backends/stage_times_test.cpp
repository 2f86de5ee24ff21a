#include "harness/backends/stage_times.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gla_bench {
namespace {

TEST(StageTimes, AreSumsOfTheirPartsAndMediansOverCalls) {
  const std::vector<std::string> names{"b", "a", "b"};
  const std::vector<std::vector<double>> calls{{1, 10, 2}, {5, 30, 5}, {1, 20, 3}};
  const std::vector<StageTime> stages = medians_of_stages(names, calls);
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].name, "b");
  EXPECT_EQ(stages[0].seconds, 4);
  EXPECT_EQ(stages[1].name, "a");
  EXPECT_EQ(stages[1].seconds, 20);
}

}  // namespace
}  // namespace gla_bench
