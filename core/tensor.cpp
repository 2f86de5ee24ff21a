#include "core/tensor.hpp"

namespace gla_bench {

std::int64_t TensorSpec::elements() const {
  std::int64_t count = 1;
  for (std::int64_t extent : extents) count *= extent;
  return count;
}

std::int64_t TensorSpec::bytes() const {
  return elements() * static_cast<std::int64_t>(size_of(dtype));
}

std::int64_t TensorSpec::memory_bytes() const {
  if (token_pitch == 0) return bytes();
  return extents.at(0) * extents.at(1) * token_pitch * static_cast<std::int64_t>(size_of(dtype));
}

std::int64_t TensorSpec::first_byte() const {
  return token_offset * static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace gla_bench
