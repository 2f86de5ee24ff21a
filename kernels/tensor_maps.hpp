#pragma once
// What the host sides of kernels with bulk tensor copies have in common.

#include <cstddef>

#include "core/variant.hpp"

namespace gla_bench {

/// Bytes of a tensor map among the parameters.
inline constexpr std::size_t tensor_map_bytes = 128;

/// Puts `maps` tensor maps before what the variant binds. The maps set the alignment of the whole
/// struct.
void bind_behind_maps(Variant& variant, std::size_t maps);

}  // namespace gla_bench
