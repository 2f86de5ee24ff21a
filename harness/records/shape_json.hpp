#pragma once
// The shape of a problem as JSON, both ways.

#include "core/problem.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// {"batch": 8, "seq": 4096, "heads": 16, "key_dim": 128, "value_dim": 128}, followed by the
/// extents that are 0 unless given. Rows of softmax are {"batch": 8, "columns": 4096}.
Json shape_to_json(const Shape& shape);

/// Reads what shape_to_json() writes. @throws InputError, also for a shape whose element count is
/// too large for 64-bit offsets to be safe
Shape read_shape(const JsonNode& node);

/// The JSON Schema of what shape_to_json() writes.
Json shape_schema();

/// @throws InputError at the node where the shape has a tensor of more than most_elements
void refuse_huge(const JsonNode& node, const Shape& shape);

}  // namespace gla_bench
