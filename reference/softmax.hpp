#pragma once
// Softmax over rows.

#include "core/operator.hpp"

namespace gla_bench {

/// y = softmax(scale x) along the columns of x [batch, columns], in the problem's dtype. The
/// default scale is 1. -inf is allowed. A row of only -inf gives zeros.
Operator softmax_operator();

}  // namespace gla_bench
