#pragma once
// The layer computed in a second, independent way, for the reference's own test. The file also
// declares what both ways share: sizes, gla's problem and the rounding between the stages.

#include <vector>

#include "core/operator.hpp"

namespace gla_bench::gla_layer_forms {

struct Sizes {
  std::int64_t rows;  ///< batch * seq
  std::int64_t model, heads, key_dim, value_dim;
  std::int64_t keys;    ///< heads * key_dim
  std::int64_t values;  ///< heads * value_dim
};

Sizes sizes(const Problem& problem);

/// The gla problem inside the layer's problem, with the tensors q, k, v, g, o and the states.
Problem recurrence_of(const Problem& problem);

double gate_divisor(const Problem& problem);

/// Values rounded to the dtype, as a tensor between two stages stores them.
std::vector<float> stored(DType dtype, std::vector<double> values);

/// Computes the layer token by token in plain loops. Sums run from the end, gla uses its quadratic
/// form, and the variance comes from the differences of all pairs. The norm takes O(V) times the
/// work of the reference's norm.
ReferenceTensors second_forward(const Problem& problem, const HostTensors& inputs);

}  // namespace gla_bench::gla_layer_forms
