#pragma once
// The sustained time of one candidate, over copies of its problem's tensors.

#include "harness/engine/run.hpp"
#include "harness/verify/looks.hpp"

namespace gla_bench {

/// Measures the sustained time of a candidate that was timed and is right, and looks at what its
/// calls left in the copies. Makes the copies for the first candidate of a problem and keeps them
/// in `staged`. Adds nothing where the policy does not ask for it, and where the problem is too
/// small, too large for the memory that is left, or the backend cannot copy. @throws RunError
void add_sustained_time(const Looked& looked, Staged& staged, const RunRules& rules,
                        Record& record);

}  // namespace gla_bench
