#pragma once
// Problems that the tests of the layer's variants share.

#include <vector>

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench::gla_layer {

inline Problem layer(DType dtype, const Shape& shape, std::int64_t model_dim) {
  Problem problem;
  problem.op = "gla_layer";
  problem.dtype = dtype;
  problem.shape = shape;
  problem.shape.model_dim = model_dim;
  return problem;
}

/// Aligned and ragged, narrow and wide, one token and many.
inline std::vector<Problem> assorted_problems() {
  std::vector<Problem> problems;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    problems.push_back(layer(dtype, {1, 1, 1, 1, 1}, 1));
    problems.push_back(layer(dtype, {2, 77, 3, 100, 72}, 50));
    problems.push_back(layer(dtype, {1, 65, 2, 37, 19}, 33));
    problems.push_back(layer(dtype, {8, 2048, 4, 256, 512}, 2048));
    problems.push_back(layer(dtype, {2, 63, 3, 64, 64}, 96));
  }
  problems[1].initial_state = true;
  problems[2].final_state = false;
  return problems;
}

inline std::vector<const Variant*> layer_variants(BackendId backend,
                                                  Direction direction = Direction::forward) {
  std::vector<const Variant*> list;
  for (const Variant& variant : variants())
    if (variant.op == "gla_layer" && variant.backend == backend && variant.direction == direction)
      list.push_back(&variant);
  return list;
}

}  // namespace gla_bench::gla_layer
