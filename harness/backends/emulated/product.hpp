#pragma once
// A recipe's matrix product on the host, element by element.

#include "core/variant.hpp"

namespace gla_bench::emulated {

/// `address` gives the memory of the product's buffers. Operands of float32 are rounded as the
/// product's arithmetic rounds them; sums are exact to float64 and rounded once to the result.
void multiply(const MatrixProduct& product, const Address& address);

}  // namespace gla_bench::emulated
