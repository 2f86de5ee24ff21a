#pragma once
// One maker per backward variant on a GPU. kernels/linear_recurrence/variants.cpp lists them.

#include "core/variant.hpp"
#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

Variant backward_recurrent(const Member& member);
Variant backward_parallel(const Member& member);
Variant backward_chunk_materialized(const Member& member);
Variant backward_chunk_fused(const Member& member);
Variant backward_chunk_sm90(const Member& member);

}  // namespace gla_bench::linear_recurrence
