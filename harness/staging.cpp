#include "harness/staging.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace gla_bench {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian");

std::uint16_t bfloat16_bits(float value) {
  if (std::isnan(value)) return 0x7fc0;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  // Adding just under half of the last kept bit, plus that bit itself, makes ties go to even.
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<std::uint16_t>(rounded >> 16);
}

float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float16_bits(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  const float magnitude = std::abs(value);
  if (magnitude >= 65520.0F) return sign | 0x7c00;
  if (magnitude < 0x1p-14F) {
    // Subnormal: a multiple of 2^-24, and 1024 of them are the smallest normal number.
    return sign | static_cast<std::uint16_t>(std::nearbyint(magnitude * 0x1p24F));
  }
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(magnitude);
  const std::uint32_t rounded = bits + 0xfffU + ((bits >> 13) & 1U);
  return sign | static_cast<std::uint16_t>((rounded >> 13) - (112U << 10));  // bias 127 to 15
}

float from_float16(std::uint16_t bits) {
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1fU ? 0xffU : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

void check_sizes(DType dtype, std::size_t values, std::size_t bytes) {
  if (values * size_of(dtype) != bytes)
    throw std::logic_error("staging: " + std::to_string(values) + " values do not fill " +
                           std::to_string(bytes) + " bytes");
}

template <class Convert>
void encode_as(std::span<const float> values, std::span<std::byte> bytes, Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = convert(values[i]);
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
  }
}

template <class Convert>
void decode_as(std::span<const std::byte> bytes, std::span<float> values, Convert convert) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + 2 * i, 2);
    values[i] = convert(bits);
  }
}

// [outer, first, second, inner] to [outer, second, first, inner].
std::vector<float> exchange_axes(std::span<const float> values, std::int64_t first,
                                 std::int64_t second, std::int64_t inner) {
  std::vector<float> exchanged(values.size());
  const std::int64_t matrix = first * second * inner;
  if (matrix == 0) return exchanged;
  const std::int64_t outer = static_cast<std::int64_t>(values.size()) / matrix;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < first; ++i)
      for (std::int64_t j = 0; j < second; ++j)
        std::copy_n(values.data() + o * matrix + (i * second + j) * inner, inner,
                    exchanged.data() + o * matrix + (j * first + i) * inner);
  return exchanged;
}

bool permuted(const TensorSpec& spec, Layout layout) {
  return spec.tokens && layout == Layout::head_first;
}

std::int64_t inner_extent(const TensorSpec& spec) {
  std::int64_t inner = 1;
  for (std::size_t axis = 3; axis < spec.extents.size(); ++axis) inner *= spec.extents[axis];
  return inner;
}

void check_elements(const TensorSpec& spec, std::size_t values) {
  if (values != static_cast<std::size_t>(spec.elements()))
    throw std::logic_error("staging: tensor '" + spec.name + "' has " +
                           std::to_string(spec.elements()) + " elements, not " +
                           std::to_string(values));
}

}  // namespace

void encode(DType dtype, std::span<const float> values, std::span<std::byte> bytes) {
  check_sizes(dtype, values.size(), bytes.size());
  if (values.empty()) return;
  switch (dtype) {
    case DType::float32:
      std::memcpy(bytes.data(), values.data(), bytes.size());
      break;
    case DType::bfloat16:
      encode_as(values, bytes, bfloat16_bits);
      break;
    case DType::float16:
      encode_as(values, bytes, float16_bits);
      break;
  }
}

void decode(DType dtype, std::span<const std::byte> bytes, std::span<float> values) {
  check_sizes(dtype, values.size(), bytes.size());
  if (values.empty()) return;
  switch (dtype) {
    case DType::float32:
      std::memcpy(values.data(), bytes.data(), bytes.size());
      break;
    case DType::bfloat16:
      decode_as(bytes, values, from_bfloat16);
      break;
    case DType::float16:
      decode_as(bytes, values, from_float16);
      break;
  }
}

std::vector<std::int64_t> storage_extents(const TensorSpec& spec, Layout layout) {
  std::vector<std::int64_t> extents = spec.extents;
  if (permuted(spec, layout)) std::swap(extents.at(1), extents.at(2));
  return extents;
}

std::vector<float> to_storage_order(const TensorSpec& spec, Layout layout,
                                    std::span<const float> logical) {
  check_elements(spec, logical.size());
  if (!permuted(spec, layout)) return {logical.begin(), logical.end()};
  return exchange_axes(logical, spec.extents.at(1), spec.extents.at(2), inner_extent(spec));
}

std::vector<float> to_logical_order(const TensorSpec& spec, Layout layout,
                                    std::span<const float> stored) {
  check_elements(spec, stored.size());
  if (!permuted(spec, layout)) return {stored.begin(), stored.end()};
  return exchange_axes(stored, spec.extents.at(2), spec.extents.at(1), inner_extent(spec));
}

}  // namespace gla_bench
