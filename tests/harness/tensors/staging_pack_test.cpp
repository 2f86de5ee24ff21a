#include "harness/tensors/staging.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

namespace gla_bench {
namespace {

TensorSpec spec(DType dtype, std::vector<std::int64_t> extents, bool tokens) {
  TensorSpec result;
  result.name = "x";
  result.dtype = dtype;
  result.extents = std::move(extents);
  result.tokens = tokens;
  return result;
}

std::vector<float> ramp(const TensorSpec& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = round_to(tensor.dtype, std::sin(static_cast<double>(i)) * 3.0);
  return values;
}

TEST(StagingPack, TiesGoToEvenAndSubnormalsRoundOnce) {
  const std::vector<std::pair<float, std::uint16_t>> expected = {
      {1.0f + 0x1p-11f, 0x3c00}, {1.0f + 3 * 0x1p-11f, 0x3c02},
      {0x1p-25f, 0x0000},        {3 * 0x1p-25f, 0x0002},
      {65519.0f, 0x7bff},        {65520.0f, 0x7c00}};
  for (const auto& [value, bits] : expected) {
    std::uint16_t got = 1;
    encode(DType::float16, std::span(&value, 1), std::as_writable_bytes(std::span(&got, 1)));
    EXPECT_EQ(got, bits) << value;
  }
}

// Random bit patterns are nearly all far outside float16: these lie around its range.
TEST(StagingPack, RoundsFloat16AsTheDefinitionDoes) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> exponent(-27, 17);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::exp2(exponent(random));
    std::uint16_t bits = 0;
    encode(DType::float16, std::span(&value, 1), std::as_writable_bytes(std::span(&bits, 1)));
    float back = 0;
    decode(DType::float16, std::as_bytes(std::span(&bits, 1)), std::span(&back, 1));
    ASSERT_EQ(back, round_to(DType::float16, value)) << value;
  }
}

class StagingRoundTrip : public testing::TestWithParam<std::tuple<DType, Layout>> {};

TEST_P(StagingRoundTrip, IsExact) {
  const auto [dtype, layout] = GetParam();
  for (const auto& extents : std::vector<std::vector<std::int64_t>>{
           {2, 5, 3, 7}, {1, 1, 1, 1}, {2, 33, 4, 100}, {3, 4, 5}}) {
    const TensorSpec tensor = spec(dtype, extents, true);
    const std::vector<float> values = ramp(tensor);
    std::vector<std::byte> stored(static_cast<std::size_t>(tensor.bytes()));
    pack(tensor, layout, values, stored);
    std::vector<float> back(values.size(), NAN);
    unpack(tensor, layout, stored, back);
    EXPECT_EQ(back, values);
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, StagingRoundTrip,
                         testing::Combine(testing::Values(DType::float32, DType::bfloat16,
                                                          DType::float16),
                                          testing::Values(Layout::seq_first, Layout::head_first)));

TEST(StagingPack, HeadFirstPutsEachElementWhereTheLayoutSays) {
  const std::int64_t B = 2, T = 5, H = 3, D = 4;
  const TensorSpec tensor = spec(DType::float32, {B, T, H, D}, true);
  const std::vector<float> values = ramp(tensor);
  std::vector<float> stored(values.size());
  pack(tensor, Layout::head_first, values, std::as_writable_bytes(std::span(stored)));
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t h = 0; h < H; ++h)
        for (std::int64_t d = 0; d < D; ++d)
          EXPECT_EQ(stored[static_cast<std::size_t>(((b * H + h) * T + t) * D + d)],
                    values[static_cast<std::size_t>(((b * T + t) * H + h) * D + d)]);
}

TEST(StagingPack, ATensorWithoutTokenAxesKeepsItsOrder) {
  const TensorSpec state = spec(DType::float32, {2, 3, 4, 5}, false);
  const std::vector<float> values = ramp(state);
  std::vector<float> stored(values.size());
  pack(state, Layout::head_first, values, std::as_writable_bytes(std::span(stored)));
  EXPECT_EQ(stored, values);
}

TEST(StagingPack, WrongSizesAreRefusedByName) {
  const TensorSpec tensor = spec(DType::bfloat16, {1, 2, 3, 4}, true);
  std::vector<float> values(23);
  std::vector<std::byte> stored(48);
  try {
    pack(tensor, Layout::seq_first, values, stored);
    FAIL() << "a short tensor was accepted";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("'x'"), std::string::npos);
  }
  values.resize(24);
  stored.resize(47);
  EXPECT_THROW(unpack(tensor, Layout::seq_first, stored, values), std::logic_error);
}

}  // namespace
}  // namespace gla_bench
