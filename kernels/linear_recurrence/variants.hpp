#pragma once
// One maker per variant; variants.cpp lists them.

#include "harness/variant.hpp"

namespace gla_bench::linear_recurrence {

// CUDA (each in <name>.cpp beside <name>.cuh)
Variant recurrent();
Variant parallel();
Variant parallel_cublas();
Variant chunk_materialized();
Variant chunk_fused();
Variant chunk_pipeline();

// Host (host_<name>.cpp)
Variant host_recurrent();
Variant host_parallel();
Variant host_chunk_materialized();
Variant host_chunk_fused();
Variant host_chunk_pipeline();

}  // namespace gla_bench::linear_recurrence
