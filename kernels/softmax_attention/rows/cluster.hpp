#pragma once
// cluster's entry in the list of variants (variants.cpp). It has a header of its own because a line
// in variants.hpp would make every record of the family stale.

#include <string_view>

#include "core/variant.hpp"

namespace gla_bench::softmax_attention {

/// Host side of cluster.cuh, for softmax.
Variant softmax_cluster(std::string_view op);

}  // namespace gla_bench::softmax_attention
