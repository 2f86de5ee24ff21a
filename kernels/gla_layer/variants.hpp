#pragma once
// The makers of the family's variants. variants.cpp lists them.

#include "core/variant.hpp"
#include "kernels/gla_layer/family.hpp"

namespace gla_bench::gla_layer {

Variant cuda_variant(Form form);  // cuda.cpp, composed.cuh, fused.cuh
Variant host_variant(Form form);  // host.cpp

/// What the variants of both backends have in common: name, stages, traffic and flops.
Variant description(Form form, BackendId backend);

}  // namespace gla_bench::gla_layer
