#pragma once
// One maker per variant. Each makes the variant for one member of the family. variants.cpp lists
// them.

#include "core/variant.hpp"
#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::linear_recurrence {

// CUDA (each in <name>.cpp beside <name>.cuh)
Variant recurrent(const Member& member);
Variant decode(const Member& member);
Variant parallel(const Member& member);
Variant parallel_cublas(const Member& member);
Variant chunk_materialized(const Member& member);
Variant chunk_fused(const Member& member);
Variant chunk_pipeline(const Member& member);

// Host (host_<name>.cpp)
Variant host_recurrent(const Member& member);
Variant host_decode(const Member& member);
Variant host_parallel(const Member& member);
Variant host_parallel_cublas(const Member& member);
Variant host_chunk_materialized(const Member& member);
Variant host_chunk_fused(const Member& member);
Variant host_chunk_pipeline(const Member& member);

}  // namespace gla_bench::linear_recurrence
