#pragma once
// The layer once more by another route, for the reference's own test, and what both routes share:
// sizes, gla's problem, the rounding between the stages.

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

/// The gla problem inside the layer's, whose tensors are q, k, v, g, o and the states.
Problem recurrence_of(const Problem& problem);

double gate_divisor(const Problem& problem);

/// Rounded to the dtype: a tensor between two stages.
std::vector<float> stored(DType dtype, std::vector<double> values);

/// Token by token in plain loops, sums from the end, gla by its quadratic form, the variance from
/// the differences of all pairs: O(V) times the work of the reference's norm.
ReferenceTensors second_form(const Problem& problem, const HostTensors& inputs);

}  // namespace gla_bench::gla_layer_forms
