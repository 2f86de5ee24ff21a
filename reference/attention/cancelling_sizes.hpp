#pragma once
// How large the terms are that cancel in the gradients of attention
// (Operator::cancelling_sizes).

#include "reference/attention/problem.hpp"

namespace gla_bench::attention {

/// The sizes of the terms of each element of dq, dk and dlog_decay. dS_ij = P_ij (dP_ij - D_i) is
/// the difference of two sums of products, dP_ij = do_i.v_j and D_i = do_i.o_i, which are equal
/// where a query sees one key. What remains of them there is the rounding of those sums. A size is
/// the RMS of what the element would be, were all signs of the products drawn, in place of dP - D.
HostTensors cancelling_sizes(const View& view);

}  // namespace gla_bench::attention
