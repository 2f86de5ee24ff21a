#pragma once
// The "shapes" of a sweep: a list of tuples, a product of axes, or zipped axes.

#include <vector>

#include "core/operator.hpp"
#include "core/problem.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// No tensor may have more elements, so that their offsets in bytes fit 64 bits with room to spare.
constexpr double most_elements = 0x1p48;

/// Elements of the largest tensor, or product of tensors' extents, that an operator may make of
/// them.
double largest_tensor(const Shape& shape);

/// [{"batch": 8, ...} or [B,T,H,K,V], ...], {"product": {"batch": [1, 8], ...}} (the first axis
/// slowest) or {"zip": {...}} (lists of one length; a single number stands for all). The axes are
/// the operator's: all of its extents must be there, its optional ones may. A tuple has its extents
/// in their order.
/// @throws InputError, also for a shape with more elements than 64-bit offsets can hold with ease
std::vector<Shape> read_shapes(const JsonNode& node, const Operator& op);

/// {"batch": 8, "seq": 4096, "heads": 16, "key_dim": 128, "value_dim": 128}, behind them the
/// extents that are 0 unless given; rows of softmax as {"batch": 8, "columns": 4096}.
Json shape_to_json(const Shape& shape);

/// What shape_to_json() writes.
Shape read_shape(const JsonNode& node);

}  // namespace gla_bench
