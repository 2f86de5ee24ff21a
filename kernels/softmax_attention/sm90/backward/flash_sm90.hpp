#pragma once
// The entries of flash_sm90's backward in the list of variants (variants.cpp), in a header of its
// own like that of the forward.

#include <cstdint>
#include <string_view>

#include "core/variant.hpp"

namespace gla_bench::softmax_attention {

/// Into how many parts the steps of each block of keys are divided, each for a block of its own: 1
/// where there are blocks enough for all multiprocessors. `blocks`: of keys, of all heads.
/// `longest` and `mean`: the steps of such a block.
int parts_of_steps(std::int64_t blocks, double longest, double mean);

/// Host side of backward/flash_sm90.cuh. Parts of dq are added in an order that varies, or in that
/// of the keys.
Variant backward_flash_sm90(std::string_view op);
Variant backward_flash_sm90_deterministic(std::string_view op);

}  // namespace gla_bench::softmax_attention
