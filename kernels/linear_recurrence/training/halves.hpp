#pragma once
// The halves of training variants that are no variants by themselves: forwards that leave the
// states before chunks of `chunk` tokens in the workspace region "chunk_states", and backwards that
// take them there. Forwards and backwards that are variants may be halves as well.

#include "core/variant.hpp"
#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

Variant chunk_fused_with_states(const Member& member);
Variant chunk_sm90_with_states(const Member& member);

Variant backward_chunk_materialized_of_states(const Member& member);
Variant backward_chunk_fused_of_states(const Member& member);
Variant backward_chunk_sm90_of_states(const Member& member);

}  // namespace gla_bench::linear_recurrence
