#include "core/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gla_bench {
namespace {

TEST(RoundTo, RoundsToNearestEven) {
  EXPECT_EQ(round_to(DType::bfloat16, 1.0 + 1.0 / 256), 1.0F);  // a tie goes to even
  EXPECT_EQ(round_to(DType::bfloat16, 1.0 + 3.0 / 256), 1.0F + 4.0F / 256);
  EXPECT_EQ(round_to(DType::float16, 1.0 + 1.0 / 2048), 1.0F);
  EXPECT_EQ(round_to(DType::float16, 65519.0), 65504.0F);
  EXPECT_TRUE(std::isinf(round_to(DType::float16, 65520.0)));
}

TEST(RoundTo, KeepsSubnormalsInfinitiesAndNan) {
  EXPECT_EQ(round_to(DType::float16, 0x1p-24), 0x1p-24F);
  EXPECT_EQ(round_to(DType::float16, 0x1p-26), 0.0F);
  EXPECT_EQ(round_to(DType::bfloat16, -INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(round_to(DType::bfloat16, NAN)));
}

TEST(Names, ParseWhatTheyPrint) {
  for (DType dtype : {DType::float32, DType::bfloat16, DType::float16})
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  EXPECT_EQ(parse_layout("head_first"), Layout::head_first);
  EXPECT_FALSE(parse_dtype("float64").has_value());
}

TEST(Names, DtypesHaveTheFieldsOtherNames) {
  for (const char* alias : {"fp32", "float"}) EXPECT_EQ(parse_dtype(alias), DType::float32);
  for (const char* alias : {"fp16", "half"}) EXPECT_EQ(parse_dtype(alias), DType::float16);
  EXPECT_EQ(parse_dtype("bf16"), DType::bfloat16);
  for (const char* text : {"", "int32", "f32", "BF16"}) EXPECT_FALSE(parse_dtype(text)) << text;
}

}  // namespace
}  // namespace gla_bench
