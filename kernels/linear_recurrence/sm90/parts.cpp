#include "kernels/linear_recurrence/sm90/parts.hpp"

#include <utility>

#include "kernels/linear_recurrence/family.hpp"
#include "kernels/linear_recurrence/sm90/kept.h"
#include "kernels/linear_recurrence/sm90/layout.h"
#include "kernels/tensor_maps.hpp"

namespace gla_bench::linear_recurrence {

TensorMap token_map(const Problem& problem, std::size_t place, std::string buffer, DType dtype,
                    std::int64_t columns, const TokenStrides& strides) {
  const Shape& s = problem.shape;
  return {place * tensor_map_bytes,
          std::move(buffer),
          dtype,
          {columns, s.seq, s.heads, s.batch},
          {strides.seq, strides.heads, strides.batch},
          {128 / static_cast<int>(size_of(dtype)), ChunkSm90Layout::tokens, 1, 1},
          128};
}

double kept_state_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  const KeptState state{static_cast<int>(s.key_dim), static_cast<int>(s.value_dim)};
  const std::int64_t chunks = ceil_div(s.seq, ChunkSm90Layout::tokens);
  return static_cast<double>(state.bytes) * static_cast<double>(sequences(problem) * chunks);
}

}  // namespace gla_bench::linear_recurrence
