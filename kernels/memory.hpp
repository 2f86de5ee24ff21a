#pragma once
// How a problem's tensors lie in memory: strides, as the layout and the option `packed` give them,
// and the dtype of the gates.

#include "core/operator.hpp"
#include "kernels/token_strides.h"
#include "reference/memory_options.hpp"

namespace gla_bench {

/// Whether q, k and v are slices of wider rows.
inline bool packed_inputs(const Problem& problem) {
  return flag(problem, "packed");
}

/// Of a tensor [B, seq, heads, dim] whose tokens lie one behind the other.
inline TokenStrides dense_strides(const Problem& problem, std::int64_t seq, std::int64_t heads,
                                  std::int64_t dim) {
  if (problem.layout == Layout::seq_first) return {seq * heads * dim, heads * dim, dim};
  return {heads * seq * dim, dim, seq * dim};
}

/// Of q, k or v.
inline TokenStrides input_strides(const Problem& problem, std::int64_t seq, std::int64_t heads,
                                  std::int64_t dim) {
  if (!packed_inputs(problem)) return dense_strides(problem, seq, heads, dim);
  const std::int64_t pitch = packed_row(problem.shape).pitch;
  return {seq * pitch, pitch, dim};
}

/// The dtype of gates per token.
inline DType gate_dtype(const Problem& problem) {
  return gate_dtype(option(problem, "gate_dtype"), problem.dtype);
}

}  // namespace gla_bench
