#pragma once
// Softmax over rows.

#include "core/operator.hpp"

namespace gla_bench {

/// y = softmax(scale x) along the columns of x [batch, columns], in the problem's dtype. The
/// default scale is 1. -inf is allowed. A row of only -inf gives zeros.
///
/// The backward is given y, which a framework keeps from the forward (PyTorch's
/// _softmax_backward_data takes the same two), and dy: dx = scale y (dy - the row's sum of y dy).
/// It reads y as it was rounded to the problem's dtype, and x not at all.
Operator softmax_operator();

}  // namespace gla_bench
