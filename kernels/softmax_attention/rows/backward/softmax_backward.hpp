#pragma once
// The entries of softmax's backward in the list of variants (variants.cpp), and what its host
// variants and its kernels share.

#include <string_view>

#include "core/variant.hpp"
#include "kernels/softmax_attention/rows/backward/params.h"

namespace gla_bench::softmax_attention {

/// Host sides of two_pass.cuh, blocked.cuh and cluster.cuh, for softmax.
Variant backward_two_pass(std::string_view op);
Variant backward_blocked(std::string_view op);
Variant backward_cluster(std::string_view op);

/// On the host (host/softmax_backward.cpp).
Variant host_backward_two_pass(std::string_view op);
Variant host_backward_blocked(std::string_view op);

/// Gives the variant's launches SoftmaxBackwardParams. Its workspace may have one region.
Variant with_gradient_params(Variant variant);

/// Operations of the backward, for each element a product and its sum, a subtraction, two products.
double gradient_flops(const Problem& problem, const Tile& tile);

}  // namespace gla_bench::softmax_attention
