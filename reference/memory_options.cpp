#include "reference/memory_options.hpp"

namespace gla_bench {

OptionAxis gate_dtype_axis() {
  return {"gate_dtype", {"same", "float32"}, "of the gates in memory: that of q, k, v, or float32"};
}

DType gate_dtype(std::string_view choice, DType dtype) {
  return choice == "float32" ? DType::float32 : dtype;
}

std::optional<std::string> refuse_gate_dtype(std::string_view choice, DType dtype) {
  if (choice != "float32" || dtype != DType::float32) return std::nullopt;
  return "gate_dtype: every tensor of a float32 problem is float32 already";
}

OptionAxis packed_axis() {
  return {"packed", {"false", "true"}, "q, k, v are slices of the rows of one projection"};
}

void lay_in_rows(const Shape& shape, std::span<TensorSpec> tensors) {
  const PackedRow row = packed_row(shape);
  const std::int64_t offsets[] = {row.q, row.k, row.v};
  for (std::size_t i = 0; i < 3; ++i) {
    tensors[i].token_pitch = row.pitch;
    tensors[i].token_offset = offsets[i];
  }
}

std::optional<std::string> refuse_packed(const Problem& problem) {
  const Shape& shape = problem.shape;
  if (problem.layout != Layout::seq_first)
    return "packed: the rows of a projection belong to tokens, so the layout is seq_first";
  if (shape.keys_seq() != shape.seq)
    return "packed: q, k and v of one projection have the same tokens, so key_seq is seq";
  return std::nullopt;
}

}  // namespace gla_bench
