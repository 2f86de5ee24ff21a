#pragma once
// The launches of the layer's own kernels that several recipes have.

#include <vector>

#include "kernels/gla_layer/family.hpp"
#include "kernels/gla_layer/layout.h"

namespace gla_bench::gla_layer {

KernelLayout layout(const Problem& problem);

KernelLaunch launch(const char* entry, std::int64_t blocks, int threads, const char* stage);

/// What lies between the projections and the product with W_O, but for gla.
struct Launches {
  std::vector<Step> gate, norm_gate;
};

/// The kernels of composed.cuh, as of the recipe's own source, with the gate's product.
Launches composed_launches(const Problem& problem, Arithmetic arithmetic);

}  // namespace gla_bench::gla_layer
