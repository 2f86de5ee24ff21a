#pragma once
// Host variants for tests of what drives variants: one that is right, and the same with a fault
// planted.

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench {

enum class Fault { none, off_by_little, nan, unwritten, overrun, input_changed, throws, refuses };

/// `gla` by the operator's own float64 reference, with a tile {chunk: 8, 16, 32} that it refuses at
/// 8, and then the fault. Fault::refuses refuses every tile.
Variant planted_variant(Fault fault, const std::string& name = "planted");

}  // namespace gla_bench
