#include "harness/tensors/staging.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace gla_bench {
namespace {

std::uint16_t bits_of(DType dtype, float value) {
  std::uint16_t bits = 0;
  std::array<std::byte, 2> bytes{};
  encode(dtype, std::span(&value, 1), bytes);
  std::memcpy(&bits, bytes.data(), 2);
  return bits;
}

float value_of(DType dtype, std::uint16_t bits) {
  std::array<std::byte, 2> bytes{};
  std::memcpy(bytes.data(), &bits, 2);
  float value = 0;
  decode(dtype, bytes, std::span(&value, 1));
  return value;
}

TEST(Staging, EncodesKnownBits) {
  EXPECT_EQ(bits_of(DType::bfloat16, 1.0F), 0x3f80);
  EXPECT_EQ(bits_of(DType::bfloat16, -INFINITY), 0xff80);
  EXPECT_EQ(bits_of(DType::float16, 1.0F), 0x3c00);
  EXPECT_EQ(bits_of(DType::float16, -2.0F), 0xc000);
  EXPECT_EQ(bits_of(DType::float16, 65504.0F), 0x7bff);
  EXPECT_EQ(bits_of(DType::float16, 65520.0F), 0x7c00);
  EXPECT_EQ(bits_of(DType::float16, 0x1p-24F), 0x0001);
  EXPECT_EQ(bits_of(DType::float16, std::nextafter(0x1p-14F, 0.0F)), 0x0400);
}

TEST(Staging, EveryPatternSurvivesDecodingAndEncoding) {
  for (DType dtype : {DType::bfloat16, DType::float16})
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      const float value = value_of(dtype, static_cast<std::uint16_t>(bits));
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(value_of(dtype, bits_of(dtype, value)))) << bits;
      else
        EXPECT_EQ(bits_of(dtype, value), bits) << name(dtype) << " " << value;
    }
}

TEST(Staging, RoundsAsRoundToDoes) {
  std::mt19937 random(7);
  for (DType dtype : {DType::bfloat16, DType::float16})
    for (int i = 0; i < 200000; ++i) {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      if (std::isnan(value)) continue;
      EXPECT_EQ(value_of(dtype, bits_of(dtype, value)), round_to(dtype, value)) << value;
    }
}

TEST(Staging, ExchangesTokenAxesOfHeadFirst) {
  const TensorSpec q{"q", TensorSpec::Role::input, DType::float32, {2, 3, 2, 2}, true};
  std::vector<float> logical(24);
  for (std::size_t i = 0; i < logical.size(); ++i) logical[i] = static_cast<float>(i);
  const std::vector<float> stored = to_storage_order(q, Layout::head_first, logical);
  EXPECT_EQ(storage_extents(q, Layout::head_first), (std::vector<std::int64_t>{2, 2, 3, 2}));
  // Batch 1, token 2, head 1, element 0: ((1*3+2)*2+1)*2 = 22 in [B,T,H,D], ((1*2+1)*3+2)*2 in
  // [B,H,T,D].
  EXPECT_EQ(stored[((1 * 2 + 1) * 3 + 2) * 2], 22.0F);
  EXPECT_EQ(stored[2], 4.0F);
  EXPECT_EQ(to_logical_order(q, Layout::head_first, stored), logical);
  EXPECT_EQ(to_storage_order(q, Layout::seq_first, logical), logical);
}

TEST(Staging, LeavesStatesAlone) {
  const TensorSpec state{
      "final_state", TensorSpec::Role::output, DType::float32, {1, 2, 3, 1}, false};
  const std::vector<float> values{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(to_storage_order(state, Layout::head_first, values), values);
  EXPECT_EQ(storage_extents(state, Layout::head_first), state.extents);
}

TEST(Staging, LeavesGapsThatAreNaNBetweenTheTokensOfASlice) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    TensorSpec k{"k", TensorSpec::Role::input, dtype, {2, 3, 2, 2}, true};
    k.token_pitch = 10;
    k.token_offset = 5;
    const std::size_t size = size_of(dtype);
    EXPECT_EQ(k.memory_bytes(), static_cast<std::int64_t>(2 * 3 * 10 * size));
    std::vector<float> logical(24), back(24);
    for (std::size_t i = 0; i < logical.size(); ++i) logical[i] = static_cast<float>(i);
    std::vector<std::byte> stored(2 * 3 * 10 * size, std::byte{0});
    pack(k, Layout::seq_first, logical, stored);
    std::vector<float> whole(2 * 3 * 10);
    decode(dtype, stored, whole);
    for (std::size_t token = 0; token < 6; ++token)
      for (std::size_t i = 0; i < 10; ++i) {
        const float value = whole[token * 10 + i];
        if (i < 5 || i > 8)
          EXPECT_TRUE(std::isnan(value)) << token << " " << i;
        else
          EXPECT_EQ(value, logical[token * 4 + i - 5]);
      }
    unpack(k, Layout::seq_first, stored, back);
    EXPECT_EQ(back, logical);
    EXPECT_THROW(pack(k, Layout::head_first, logical, stored), std::logic_error);
    EXPECT_THROW(pack(k, Layout::seq_first, logical, std::span(stored).first(24 * size)),
                 std::logic_error);
    EXPECT_EQ(to_storage_order(k, Layout::seq_first, logical), logical);  // files have no gaps
  }
}

TEST(Staging, RefusesSizesThatDoNotFit) {
  std::vector<std::byte> bytes(3);
  const std::vector<float> values{1, 2};
  EXPECT_THROW(encode(DType::bfloat16, values, bytes), std::logic_error);
  const TensorSpec q{"q", TensorSpec::Role::input, DType::float32, {1, 2, 2, 1}, true};
  EXPECT_THROW(to_storage_order(q, Layout::head_first, values), std::logic_error);
}

}  // namespace
}  // namespace gla_bench
