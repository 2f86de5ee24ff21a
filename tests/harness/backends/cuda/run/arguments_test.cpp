#include "harness/backends/cuda/run/arguments.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace gla_bench::cuda {
namespace {

template <class Value>
Value value_in(const ParamBytes& bytes, std::size_t slot) {
  Value value{};
  std::memcpy(&value, bytes.data() + slot * argument_slot, sizeof value);
  return value;
}

TEST(Arguments, EachBeginsItsSlot) {
  int there = 0;
  const Address address = [&](std::string_view name) -> void* {
    return name == "q" ? &there : nullptr;
  };
  const std::vector<Argument> arguments{BufferAddress{"q"}, std::int32_t{-7}, std::int64_t{1} << 40,
                                        0.25f, BufferAddress{"none"}};
  const ParamBytes bytes = bytes_of(arguments, address);
  ASSERT_EQ(bytes.size(), 5 * argument_slot);
  EXPECT_EQ(value_in<void*>(bytes, 0), &there);
  EXPECT_EQ(value_in<std::int32_t>(bytes, 1), -7);
  EXPECT_EQ(value_in<std::int64_t>(bytes, 2), std::int64_t{1} << 40);
  EXPECT_EQ(value_in<float>(bytes, 3), 0.25f);
  EXPECT_EQ(value_in<void*>(bytes, 4), nullptr);
}

TEST(Arguments, HaveTheSizesThatAKernelDeclares) {
  EXPECT_EQ(size_of(BufferAddress{"q"}), 8u);
  EXPECT_EQ(size_of(std::int64_t{1}), 8u);
  EXPECT_EQ(size_of(std::int32_t{1}), 4u);
  EXPECT_EQ(size_of(1.0f), 4u);
}

}  // namespace
}  // namespace gla_bench::cuda
