#include "core/rounding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace gla_bench {
namespace {

TEST(Rounding, FormatsTakeTiesToEven) {
  EXPECT_EQ(round_to(DType::bfloat16, 1.0 + 0x1p-8), 1.0f);
  EXPECT_EQ(round_to(DType::bfloat16, 1.0 + 3 * 0x1p-8), 1.0f + 0x1p-6f);
  EXPECT_EQ(round_to(DType::bfloat16, 1.0 + 0x1.000001p-8), 1.0f + 0x1p-7f);
  EXPECT_EQ(round_to(DType::float16, -(1.0 + 0x1p-11)), -1.0f);
  EXPECT_EQ(round_to(DType::float16, -(1.0 + 3 * 0x1p-11)), -(1.0f + 0x1p-9f));
}

TEST(Rounding, DoubleIsRoundedOnce) {
  // Through float32 this would first become exactly a tie, and then round down.
  EXPECT_EQ(round_to(DType::bfloat16, 1.0 + 0x1p-8 + 0x1p-40), 1.0f + 0x1p-7f);
}

TEST(Rounding, RangeEnds) {
  EXPECT_EQ(round_to(DType::float16, 65519.99), 65504.0f);
  EXPECT_TRUE(std::isinf(round_to(DType::float16, 65520.0)));
  EXPECT_EQ(round_to(DType::float16, 0x1p-24), 0x1p-24f);
  EXPECT_EQ(round_to(DType::float16, 0x1p-25), 0.0f);
  EXPECT_EQ(round_to(DType::float16, 0x1.8p-24), 0x1p-23f);
  EXPECT_TRUE(std::signbit(round_to(DType::float16, -0x1p-30)));
  EXPECT_TRUE(std::isnan(round_to(DType::bfloat16, NAN)));
  EXPECT_EQ(round_to(DType::bfloat16, -INFINITY), -INFINITY);
}

TEST(Rounding, EveryFloat16SurvivesTheRoundTrip) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = float16_value(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float16_value(float16_bits(value))));
      continue;
    }
    ASSERT_EQ(float16_bits(value), bits) << i;
    ASSERT_EQ(round_to(DType::float16, value), value) << i;
  }
}

TEST(Rounding, EveryBfloat16SurvivesTheRoundTrip) {
  for (std::uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = bfloat16_value(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bfloat16_value(bfloat16_bits(value))));
      continue;
    }
    ASSERT_EQ(bfloat16_bits(value), bits) << i;
    ASSERT_EQ(round_to(DType::bfloat16, value), value) << i;
  }
}

TEST(Rounding, BitsAgreeWithValuesBetweenNeighbours) {
  std::uint32_t bits = 1;
  for (int i = 0; i < 200000; ++i) {
    bits = bits * 1664525u + 1013904223u;
    const float value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(float16_value(float16_bits(value)), round_to(DType::float16, value)) << value;
    ASSERT_EQ(bfloat16_value(bfloat16_bits(value)), round_to(DType::bfloat16, value)) << value;
  }
}

TEST(Rounding, MantissaCutMatchesBfloat16) {
  for (float value : {1.0f, 1.00390625f, 3.14159265f, -1e-20f, 6.02e23f, 0.0f})
    EXPECT_EQ(round_mantissa<7>(value), round_to(DType::bfloat16, value));
  EXPECT_EQ(round_mantissa_away<10>(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);
  EXPECT_EQ(round_mantissa_away<10>(-1.0f - 0x1p-11f), -1.0f - 0x1p-10f);
  EXPECT_EQ(round_mantissa_away<10>(1.0f + 0x1p-12f), 1.0f);
  EXPECT_EQ(round_mantissa_away<10>(INFINITY), INFINITY);
  EXPECT_EQ(round_mantissa<10>(1.0f + 0x1p-11f), 1.0f);
  EXPECT_EQ(round_mantissa<10>(1.0f + 3 * 0x1p-11f), 1.0f + 0x1p-9f);
}

TEST(Rounding, OperandsKeepWhatTheArithmeticKeeps) {
  const float value = 1.0f + 0x1p-7f + 0x1p-10f + 0x1p-23f;
  const auto kept = [&](Arithmetic arithmetic) {
    return with_operand_rounding(arithmetic, [&](auto round) { return round(value); });
  };
  EXPECT_EQ(kept(Arithmetic::float32), value);
  EXPECT_EQ(kept(Arithmetic::tf32), 1.0f + 0x1p-7f + 0x1p-10f);
  EXPECT_EQ(kept(Arithmetic::float16), 1.0f + 0x1p-7f + 0x1p-10f);
  EXPECT_EQ(kept(Arithmetic::bfloat16), 1.0f + 0x1p-7f);
}

}  // namespace
}  // namespace gla_bench
