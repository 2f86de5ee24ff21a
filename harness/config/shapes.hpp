#pragma once
// The "shapes" of a sweep: a list of tuples, a product of axes, or zipped axes.

#include <vector>

#include "core/operator.hpp"
#include "core/problem.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// Reads [{"batch": 8, ...} or [B,T,H,K,V], ...], {"product": {"batch": [1, 8], ...}} (the first
/// axis varies slowest) or {"zip": {...}} (lists of one length, where a single number is repeated).
/// The axes are the operator's: all of its extents are required, its optional ones are not. A tuple
/// lists the extents in the operator's order.
/// @throws InputError, also for a shape whose element count is too large for 64-bit offsets to be
/// safe
std::vector<Shape> read_shapes(const JsonNode& node, const Operator& op);

}  // namespace gla_bench
