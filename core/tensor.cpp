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

}  // namespace gla_bench
