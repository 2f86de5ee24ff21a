#pragma once
// chunk_sm90's entry in the list of variants (variants.cpp). In a header of its own: one that all
// variants include is part of all their sources' hashes, and a line in it would make every record of
// the family stale.

#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

/// chunk_sm90.cuh; of each member of the family.
Variant chunk_sm90(const Member& member);

}  // namespace gla_bench::linear_recurrence
