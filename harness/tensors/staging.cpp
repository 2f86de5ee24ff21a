#include "harness/tensors/staging.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/rounding.hpp"

namespace gla_bench {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian");

void check_sizes(const TensorSpec& spec, std::size_t values, std::size_t bytes) {
  if (values != static_cast<std::size_t>(spec.elements()) ||
      bytes != static_cast<std::size_t>(spec.memory_bytes()))
    throw std::logic_error("tensor '" + spec.name + "' has " + std::to_string(spec.elements()) +
                           " elements in " + std::to_string(spec.memory_bytes()) +
                           " bytes; given were " + std::to_string(values) + " elements and " +
                           std::to_string(bytes) + " bytes");
}

template <class Bits, class Convert>
void pack_rows(const StoredRows& rows, const float* values, std::byte* stored, Convert convert) {
  const std::int64_t length = rows.length;
#pragma omp parallel for schedule(static) if (rows.count() * length > 65536)
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    const float* from = values + row * length;
    std::byte* to = stored + rows.begin(row) * static_cast<std::int64_t>(sizeof(Bits));
    for (std::int64_t i = 0; i < length; ++i) {
      const Bits bits = convert(from[i]);
      std::memcpy(to + i * static_cast<std::int64_t>(sizeof bits), &bits, sizeof bits);
    }
  }
}

template <class Bits, class Convert>
void unpack_rows(const StoredRows& rows, const std::byte* stored, float* values, Convert convert) {
  const std::int64_t length = rows.length;
#pragma omp parallel for schedule(static) if (rows.count() * length > 65536)
  for (std::int64_t row = 0; row < rows.count(); ++row) {
    const std::byte* from = stored + rows.begin(row) * static_cast<std::int64_t>(sizeof(Bits));
    float* to = values + row * length;
    for (std::int64_t i = 0; i < length; ++i) {
      Bits bits;
      std::memcpy(&bits, from + i * static_cast<std::int64_t>(sizeof bits), sizeof bits);
      to[i] = convert(bits);
    }
  }
}

// These are types of their own, not function pointers, so that the compiler can inline the
// conversion into the loops above.
constexpr auto same = [](float value) { return value; };
constexpr auto to_bfloat16 = [](float value) { return bfloat16_bits(value); };
constexpr auto to_float16 = [](float value) { return float16_bits(value); };
constexpr auto to_int32 = [](float value) { return static_cast<std::int32_t>(value); };
constexpr auto from_int32 = [](std::int32_t value) { return static_cast<float>(value); };
constexpr auto from_bfloat16 = [](std::uint16_t bits) { return bfloat16_value(bits); };
constexpr auto from_float16 = [](std::uint16_t bits) { return float16_value(bits); };

void pack_as(DType dtype, const StoredRows& rows, const float* values, std::byte* stored) {
  switch (dtype) {
    case DType::float32:
      return pack_rows<float>(rows, values, stored, same);
    case DType::bfloat16:
      return pack_rows<std::uint16_t>(rows, values, stored, to_bfloat16);
    case DType::float16:
      return pack_rows<std::uint16_t>(rows, values, stored, to_float16);
    case DType::int32:
      return pack_rows<std::int32_t>(rows, values, stored, to_int32);
  }
}

void unpack_as(DType dtype, const StoredRows& rows, const std::byte* stored, float* values) {
  switch (dtype) {
    case DType::float32:
      return unpack_rows<float>(rows, stored, values, same);
    case DType::bfloat16:
      return unpack_rows<std::uint16_t>(rows, stored, values, from_bfloat16);
    case DType::float16:
      return unpack_rows<std::uint16_t>(rows, stored, values, from_float16);
    case DType::int32:
      return unpack_rows<std::int32_t>(rows, stored, values, from_int32);
  }
}

// A list of values as a tensor of one axis.
TensorSpec flat(DType dtype, std::size_t values) {
  TensorSpec spec;
  spec.name = "values";
  spec.dtype = dtype;
  spec.extents = {static_cast<std::int64_t>(values)};
  return spec;
}

bool permuted(const TensorSpec& spec, Layout layout) {
  return spec.tokens && layout == Layout::head_first;
}

// As files hold it: without gaps.
TensorSpec dense_float32(TensorSpec spec) {
  spec.dtype = DType::float32;
  spec.token_pitch = spec.token_offset = 0;
  return spec;
}

// NaN in every float dtype.
constexpr std::byte gap_byte{0xff};

}  // namespace

StoredRows stored_rows(const TensorSpec& spec, Layout layout) {
  if (spec.token_pitch > 0) {  // a row is all that a token has
    if (!spec.tokens || layout != Layout::seq_first)
      throw std::logic_error("tensor '" + spec.name + "' has a token pitch without token rows");
    const std::int64_t tokens = spec.extents.at(0) * spec.extents.at(1);
    return {tokens, 1, 1, spec.elements() / tokens, false, spec.token_pitch, spec.token_offset};
  }
  if (spec.value_first) {  // [.., K, V] with its last two axes exchanged
    const std::int64_t values = spec.extents.back(),
                       keys = spec.extents.at(spec.extents.size() - 2);
    return {spec.elements() / (keys * values), keys, values, 1, true};
  }
  if (!spec.tokens || layout == Layout::seq_first) {
    // Where nothing moves, any division into rows will do. The widest that divides evenly makes
    // loops that are worth vectorising.
    for (std::int64_t length : {4096, 64})
      if (spec.elements() % length == 0) return {spec.elements() / length, 1, 1, length, false};
    return {spec.elements(), 1, 1, 1, false};
  }
  if (spec.extents.size() < 3)
    throw std::logic_error("tensor '" + spec.name + "' has token axes but fewer than three axes");
  StoredRows rows{spec.extents[0], spec.extents[1], spec.extents[2], 1, true};
  for (std::size_t axis = 3; axis < spec.extents.size(); ++axis) rows.length *= spec.extents[axis];
  return rows;
}

void pack(const TensorSpec& spec, Layout layout, std::span<const float> values,
          std::span<std::byte> stored) {
  check_sizes(spec, values.size(), stored.size());
  if (spec.token_pitch > 0) std::fill(stored.begin(), stored.end(), gap_byte);
  pack_as(spec.dtype, stored_rows(spec, layout), values.data(), stored.data());
}

void unpack(const TensorSpec& spec, Layout layout, std::span<const std::byte> stored,
            std::span<float> values) {
  check_sizes(spec, values.size(), stored.size());
  unpack_as(spec.dtype, stored_rows(spec, layout), stored.data(), values.data());
}

void encode(DType dtype, std::span<const float> values, std::span<std::byte> bytes) {
  pack(flat(dtype, values.size()), Layout::seq_first, values, bytes);
}

void decode(DType dtype, std::span<const std::byte> bytes, std::span<float> values) {
  unpack(flat(dtype, values.size()), Layout::seq_first, bytes, values);
}

const std::string& memory_name(const TensorSpec& spec) {
  return spec.in_place_of.empty() ? spec.name : spec.in_place_of;
}

void check_in_place(std::span<const TensorSpec> specs) {
  std::set<std::string> taken;
  for (const TensorSpec& spec : specs) {
    if (spec.in_place_of.empty()) continue;
    const auto input = std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& other) {
      return other.name == spec.in_place_of && other.role == TensorSpec::Role::input;
    });
    const std::string pair = "'" + spec.name + "' in place of '" + spec.in_place_of + "'";
    if (spec.role != TensorSpec::Role::output || input == specs.end())
      throw std::logic_error(pair + ": not an output in place of an input");
    if (input->extents != spec.extents || input->dtype != spec.dtype ||
        input->tokens != spec.tokens || input->value_first != spec.value_first ||
        input->token_pitch != spec.token_pitch || input->token_offset != spec.token_offset)
      throw std::logic_error(pair + ": they are stored differently");
    if (!taken.insert(spec.in_place_of).second)
      throw std::logic_error(pair + ": so is another output");
  }
}

std::vector<std::int64_t> storage_extents(const TensorSpec& spec, Layout layout) {
  std::vector<std::int64_t> extents = spec.extents;
  if (permuted(spec, layout)) std::swap(extents.at(1), extents.at(2));
  if (spec.value_first) std::swap(extents.back(), extents.at(extents.size() - 2));
  return extents;
}

std::vector<float> to_storage_order(const TensorSpec& spec, Layout layout,
                                    std::span<const float> logical) {
  std::vector<float> stored(logical.size());
  pack(dense_float32(spec), layout, logical, std::as_writable_bytes(std::span(stored)));
  return stored;
}

std::vector<float> to_logical_order(const TensorSpec& spec, Layout layout,
                                    std::span<const float> stored) {
  std::vector<float> logical(stored.size());
  unpack(dense_float32(spec), layout, std::as_bytes(stored), logical);
  return logical;
}

}  // namespace gla_bench
