#pragma once
// Options that several operators have and that say how inputs lie in memory, not what they are.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/operator.hpp"

namespace gla_bench {

/// gate_dtype: layers keep their gates in float32 also where q, k and v have 16 bits.
OptionAxis gate_dtype_axis();

/// The dtype of the gates. `choice` is the option's value, or "" for an operator that lacks it.
DType gate_dtype(std::string_view choice, DType dtype);

/// Why there is no such choice (gates of a float32 problem are float32 already), or nothing.
std::optional<std::string> refuse_gate_dtype(std::string_view choice, DType dtype);

/// packed: q, k and v are slices of the output of one projection. A token's row holds q of all
/// heads, then k of all heads, then v of all heads.
OptionAxis packed_axis();

/// The elements of such a row, and those before each of the slices.
struct PackedRow {
  std::int64_t pitch, q, k, v;
};
inline PackedRow packed_row(const Shape& shape) {
  const std::int64_t queries = shape.heads * shape.key_dim;
  const std::int64_t keys = shape.keys_heads() * shape.key_dim;
  const std::int64_t values = shape.keys_heads() * shape.value_dim;
  return {queries + keys + values, 0, queries, queries + keys};
}

/// Makes slices of q, k and v, which are the first three tensors of the list.
void lay_in_rows(const Shape& shape, std::span<TensorSpec> tensors);

/// Why such a problem cannot have packed inputs, or nothing.
std::optional<std::string> refuse_packed(const Problem& problem);

}  // namespace gla_bench
