#pragma once
// chunk_sm90's entry in the list of variants (variants.cpp). It has a header of its own because a
// header that all variants include is part of the hashes of all their sources. A changed line there
// would make every record of the family stale.

#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

/// Host side of chunk_sm90.cuh, for one member of the family.
Variant chunk_sm90(const Member& member);

}  // namespace gla_bench::linear_recurrence
