#pragma once
// The last step of every computation whose outputs are stored in 16 bits.

#include <span>

#include "core/tensor.hpp"

namespace gla_bench {

/// Rounds each output to the dtype that its tensor stores. @throws std::out_of_range for a missing
/// output
void round_outputs(std::span<const TensorSpec> specs, HostTensors& outputs);

}  // namespace gla_bench
