#include "harness/backends/other_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace gla_bench {

bool is_negatable(const TensorSpec& spec, std::span<const float> values) {
  return spec.role == TensorSpec::Role::input && spec.dtype != DType::int32 &&
         std::any_of(values.begin(), values.end(), [](float value) { return value > 0; });
}

HostTensors negated(std::span<const TensorSpec> specs, const HostTensors& inputs) {
  HostTensors others = inputs;
  for (const TensorSpec& spec : specs) {
    const auto found = others.find(spec.name);
    if (found == others.end() || !is_negatable(spec, found->second)) continue;
    for (float& value : found->second) value = std::isfinite(value) ? -value : value;
  }
  return others;
}

void flip_signs(DType dtype, std::span<std::byte> stored) {
  if (dtype == DType::int32) throw std::logic_error("whole numbers have no sign to flip");
  // In little-endian order, sign and exponent are in an element's last two bytes. An exponent of
  // all ones is an infinity or a NaN.
  const unsigned exponent = dtype == DType::float16 ? 0x7c00u : 0x7f80u;
  const std::size_t size = size_of(dtype);
  const auto count = static_cast<std::int64_t>(stored.size() / size);
  std::byte* bytes = stored.data() + size - 2;
#pragma omp parallel for schedule(static) if (count > 65536)
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* at = bytes + static_cast<std::size_t>(i) * size;
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    if ((bits & exponent) != exponent) at[1] ^= std::byte{0x80};
  }
}

}  // namespace gla_bench
