#pragma once
// Attention by its definition, element by element. This independent form checks the blocked one.

#include "reference/attention/problem.hpp"

namespace gla_bench::attention {

/// Computes o and lse in long double. It subtracts no maximum, because the range of long double
/// holds e^11000. Biases are summed key by key from the query backwards.
ReferenceTensors second_forward(const View& view);

/// Computes dq, dk, dv and dlog_decay from dS_ij = P_ij (do_i . (v_j - o_i)). The gradient of a log
/// decay is the sum over the pairs on both sides of its token.
ReferenceTensors second_backward(const View& view);

}  // namespace gla_bench::attention
