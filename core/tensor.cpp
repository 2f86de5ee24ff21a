#include "core/tensor.hpp"

#include <algorithm>
#include <cmath>

namespace gla_bench {

double TensorSpec::size_of_sums() const {
  const auto count = static_cast<double>(std::max<std::int64_t>(elements(), 1));
  return sum_size * (1 + 2 / std::sqrt(count));
}

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
