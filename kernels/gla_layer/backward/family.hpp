#pragma once
// What the variants of the layer's backward and of its training share: workspace, parameters and
// byte counts. reference/gla_layer/backward.hpp has the formulas.

#include <vector>

#include "kernels/gla_layer/backward/params.h"
#include "kernels/gla_layer/family.hpp"

namespace gla_bench::gla_layer {

/// The forward's regions, of which the backward reads q, k, v, r, low, g, o and gated, and their
/// gradients. That of z is stored times the divisor, which float16 holds better, and so is that of
/// low.
std::vector<Region> gradient_regions(const Problem& problem, Form forward);

GlaLayerGradients gradient_params(const Problem& problem, const Address& address);

/// The stages "projections", "gate", "gla", "norm_gate", "gla_backward" and "weights", in order.
std::vector<StageTraffic> gradient_stages(const Problem& problem, const Traffic& gla,
                                          const Traffic& gla_backward);

/// The bytes of all stages.
Traffic sum_of(const std::vector<StageTraffic>& stages);

/// Operations of everything outside gla.
double gradient_flops_around(const Problem& problem);

/// What the variants of both backends have in common, but for what only GPUs store: the sums of
/// the gate (add_gate_sums()) and, in training, what Form::composed has. Training is the forward,
/// whose tensors stay, and the backward from them, with any of gla's training inside; its stages
/// are "forward" and "backward".
Variant gradient_description(BackendId backend, Direction direction);

/// Adds the sums of the gate to the bytes of the stages that write and read them on a GPU.
void add_gate_sums(const Problem& problem, std::vector<StageTraffic>& gradient_stages);

/// Of both directions with gradients.
Variant host_gradient_variant(Direction direction);  // host.cpp
Variant cuda_gradient_variant(Direction direction);  // cuda.cpp, composed.cuh

}  // namespace gla_bench::gla_layer
