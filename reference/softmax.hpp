#pragma once
// Softmax over rows.

#include "core/operator.hpp"

namespace gla_bench {

/// y = softmax(scale x) along the columns of x [batch, columns], in the problem's dtype. Default
/// scale 1. -inf is legal; a row of nothing else gives zeros.
Operator softmax_operator();

}  // namespace gla_bench
