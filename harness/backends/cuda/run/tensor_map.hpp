#pragma once
// Encodes the maps that bulk tensor copies use.

#include "core/variant.hpp"

namespace gla_bench::cuda {

/// Writes the map of the memory at `begin` to its place in `params`. @throws RunError where the
/// driver does not support such maps or refuses this one (naming the buffer), and for a place
/// outside `params`
void encode_tensor_map(const TensorMap& map, void* begin, ParamBytes& params);

}  // namespace gla_bench::cuda
