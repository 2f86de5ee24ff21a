#pragma once
// One maker per variant, for the operator that it is given; variants.cpp lists them.

#include <string_view>

#include "harness/variant.hpp"

namespace gla_bench::softmax_attention {

// CUDA (each in <name>.cpp beside <name>.cuh)

// Host (host_<name>.cpp)

}  // namespace gla_bench::softmax_attention
