#pragma once
// The "random" of a sweep: what its problems are drawn from.

#include "core/operator.hpp"
#include "harness/config/sweep.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// Reads `node`, the "random" of `sweep_node`, and sets what may be drawn where the sweep does not
/// say: dtypes, layouts, gate regimes, states, scales and options.
/// @throws InputError, also for "shapes" beside "random"
void read_random(const JsonNode& sweep_node, const JsonNode& node, const Operator& op,
                 Sweep& sweep);

}  // namespace gla_bench
