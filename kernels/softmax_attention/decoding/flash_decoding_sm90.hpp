#pragma once
// flash_decoding_sm90's entry in the list of variants (variants.cpp). It has a header of its own
// because a line in variants.hpp would make every record of the family stale.

#include <string_view>

#include "core/variant.hpp"

namespace gla_bench::softmax_attention {

/// Host side of flash_decoding_sm90.cuh, for attention or decay_attention.
Variant flash_decoding_sm90(std::string_view op);

}  // namespace gla_bench::softmax_attention
