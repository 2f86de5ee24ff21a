#pragma once
// The "shapes" of a sweep: a list of tuples, a product of axes, or zipped axes.

#include <vector>

#include "core/operator.hpp"
#include "core/problem.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// [{"batch": 8, ...} or [B,T,H,K,V], ...], {"product": {"batch": [1, 8], ...}} (the first axis
/// slowest) or {"zip": {...}} (lists of one length; a single number stands for all). The axes are
/// the operator's: all of its extents must be there, its optional ones may. A tuple has its extents
/// in their order.
/// @throws InputError, also for a shape with more elements than 64-bit offsets can hold with ease
std::vector<Shape> read_shapes(const JsonNode& node, const Operator& op);

}  // namespace gla_bench
