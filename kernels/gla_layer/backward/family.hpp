#pragma once
// What the variants of the layer's backward share: workspace, parameters and byte counts.
// reference/gla_layer_backward.hpp has the formulas.

#include <vector>

#include "kernels/gla_layer/backward/params.h"
#include "kernels/gla_layer/family.hpp"

namespace gla_bench::gla_layer {

/// q, k, v, r, low, g, o and gated as in the forward, and their gradients. That of z is stored
/// times the divisor, which float16 holds better, and so is that of low.
std::vector<Region> gradient_regions(const Problem& problem);

GlaLayerGradients gradient_params(const Problem& problem, const Address& address);

/// The stages "projections", "gate", "gla", "norm_gate", "gla_backward" and "weights", in order.
std::vector<StageTraffic> gradient_stages(const Problem& problem, const Traffic& gla,
                                          const Traffic& gla_backward);

/// The bytes of all stages.
Traffic sum_of(const std::vector<StageTraffic>& stages);

/// Operations of everything outside gla.
double gradient_flops_around(const Problem& problem);

/// What the variants of both backends have in common.
Variant gradient_description(BackendId backend);

Variant host_gradient_variant();  // host.cpp
Variant cuda_gradient_variant();  // cuda.cpp, composed.cuh

}  // namespace gla_bench::gla_layer
