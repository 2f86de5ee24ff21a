#include "harness/backends/other_inputs.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

TensorSpec spec(const std::string& name, DType dtype = DType::float32) {
  return {name, TensorSpec::Role::input, dtype, {4}, false};
}

TEST(OtherInputs, LogDecaysAndWholeNumbersStay) {
  EXPECT_TRUE(is_negatable(spec("q"), std::vector<float>{-1, 0, 2, -inf}));
  EXPECT_FALSE(is_negatable(spec("g"), std::vector<float>{-1, 0, -2, -inf}));
  EXPECT_FALSE(is_negatable(spec("cu_seqlens", DType::int32), std::vector<float>{0, 3, 9, 12}));
  TensorSpec output = spec("o");
  output.role = TensorSpec::Role::output;
  EXPECT_FALSE(is_negatable(output, std::vector<float>{1, 1, 1, 1}));
}

TEST(OtherInputs, StoredBytesAndValuesAgreeAndTwiceIsNothing) {
  const std::vector<float> values{1.5f, -0.25f, 0.0f, -inf};
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    const TensorSpec q = spec("q", dtype);
    std::vector<std::byte> stored(values.size() * size_of(dtype));
    encode(dtype, values, stored);
    const std::vector<std::byte> before = stored;
    flip_signs(dtype, stored);
    std::vector<float> read(values.size());
    decode(dtype, stored, read);
    const std::vector<TensorSpec> specs{q};
    EXPECT_EQ(read, negated(specs, {{"q", values}}).at("q"));
    EXPECT_EQ(read, (std::vector<float>{-1.5f, 0.25f, -0.0f, -inf}));
    flip_signs(dtype, stored);
    EXPECT_EQ(stored, before);
  }
  std::vector<std::byte> indices(16);
  EXPECT_THROW(flip_signs(DType::int32, indices), std::logic_error);
}

}  // namespace
}  // namespace gla_bench
