#pragma once
// One maker per backward variant on the host. kernels/linear_recurrence/variants.cpp lists them.

#include "core/variant.hpp"
#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

Variant host_backward_recurrent(const Member& member);
Variant host_backward_parallel(const Member& member);
Variant host_backward_chunk_materialized(const Member& member);
Variant host_backward_chunk_fused(const Member& member);

// Training: the same walks, of which the one forwards also forms the outputs.
Variant host_training_recurrent(const Member& member);
Variant host_training_chunk_materialized(const Member& member);
Variant host_training_chunk_fused(const Member& member);

}  // namespace gla_bench::linear_recurrence
