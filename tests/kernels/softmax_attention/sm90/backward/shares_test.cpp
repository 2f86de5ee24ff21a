// Which columns of dk, dv and dq the two consumers of flash_sm90's backward have.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/softmax_attention/sm90/backward/layout.h"

namespace gla_bench::softmax_attention {
namespace {

// Consumers that divide columns have each of them once between them, and no product is wider than
// the columns need.
TEST(BackwardFlashSm90, ConsumersShareAllColumnsAndMultiplyNoMoreThanThey) {
  for (const bool divided : {false, true})
    for (const bool most_to_first : {false, true})
      for (int columns = 8; columns <= 256; columns += 8) {
        const BackwardSm90Columns at(columns, divided, most_to_first);
        const int end = at.second + at.second_width;
        EXPECT_EQ(at.first_width, divided ? at.second : end) << columns;
        EXPECT_EQ(at.second % 32, 0);
        EXPECT_EQ(at.second % 64 != 0, at.shares_panel);
        EXPECT_GE(end, columns);
        EXPECT_LE(end, (columns + 63) / 64 * 64) << columns;
        EXPECT_EQ(at.most, std::max(at.first_width, at.second_width));
        if (divided) {
          EXPECT_LE(at.most, 128);
        }
      }
  const auto widths = [](const BackwardSm90Columns& at) {
    return std::vector{at.first_width, at.second_width};
  };
  EXPECT_EQ(widths({96, false}), (std::vector{96, 96}));
  EXPECT_EQ(widths({96, true}), (std::vector{64, 32}));
  EXPECT_EQ(widths({160, true}), (std::vector{64, 96}));
  EXPECT_EQ(widths({160, true, true}), (std::vector{128, 32}));
  EXPECT_EQ(widths({40, true}), (std::vector{32, 32}));
  EXPECT_EQ(widths({208, true}), (std::vector{128, 80}));
}

// Of three panels of keys the second consumer has two, of three of values the first one.
TEST(BackwardFlashSm90, ConsumersHaveAboutAsManySums) {
  const BackwardSm90Layout wide(192, 192, 64, 2, 0);
  EXPECT_EQ(wide.first_floats, wide.second_floats);
  EXPECT_EQ(wide.accumulators, 160);
  EXPECT_TRUE(wide.dq_beside);
  EXPECT_FALSE(wide.alike);
  EXPECT_EQ(wide.block_floats, 64 * (192 + 192));
  EXPECT_EQ(wide.step_floats, 64 * 192);
  const BackwardSm90Layout narrow(80, 112, 64, 2, 0);
  EXPECT_FALSE(narrow.alike);  // 64 columns of dq and 32
  EXPECT_EQ(narrow.step_floats, 64 * 96);
  EXPECT_EQ(narrow.block_floats, 128 * (80 + 112));
  EXPECT_TRUE(BackwardSm90Layout(128, 128, 64, 2, 0).alike);
  EXPECT_TRUE(BackwardSm90Layout(128, 128, 64, 2, 0).dq_beside);
}

}  // namespace
}  // namespace gla_bench::softmax_attention
