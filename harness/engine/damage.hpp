#pragma once
// What a call may not touch: guard zones and inputs.

#include "core/variant.hpp"
#include "harness/backends/backend.hpp"

namespace gla_bench {

/// @throws RunError that names the candidate where its calls have damaged guard zones of tensors or
/// of the workspace, or an input
void expect_no_damage(const Candidate& candidate, Workset& workset, Plan& plan);

}  // namespace gla_bench
