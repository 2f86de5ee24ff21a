#pragma once
// Attention by its definition, element by element: the independent form that checks the blocked
// one.

#include "reference/attention/problem.hpp"

namespace gla_bench::attention {

/// o and lse in long double: no maximum is subtracted (its range holds e^11000), biases are summed
/// up key by key from the query backwards.
ReferenceTensors second_forward(const View& view);

/// dq, dk, dv and dlog_decay from dS_ij = P_ij (do_i . (v_j - o_i)); a log decay's gradient is the
/// sum over the pairs that straddle its token.
ReferenceTensors second_backward(const View& view);

}  // namespace gla_bench::attention
