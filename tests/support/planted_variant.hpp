#pragma once
// Host variants to test the code that drives variants: a right one, and the same one with a planted
// fault.

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench {

enum class Fault { none, off_by_little, nan, unwritten, overrun, input_changed, throws, refuses };

/// `gla` computed by the operator's own float64 reference, with the planted fault. Its tile is
/// {chunk: 8, 16, 32}, of which it refuses 8. Fault::refuses refuses every tile.
Variant planted_variant(Fault fault, const std::string& name = "planted");

}  // namespace gla_bench
