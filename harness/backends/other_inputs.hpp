#pragma once
// Other inputs of the same problem at no cost: every tensor that may have any sign, negated. A
// candidate that answers from an earlier call gives the very same bits for them.

#include <cstddef>
#include <span>

#include "core/operator.hpp"

namespace gla_bench {

/// Whether the tensor is one that negate_inputs() changes: a float input of which some value is
/// positive. Log decays, which are not, stay as they are.
bool is_negatable(const TensorSpec& spec, std::span<const float> values);

/// The inputs with each negatable tensor negated, infinities aside: what is masked stays masked.
HostTensors negated(std::span<const TensorSpec> specs, const HostTensors& inputs);

/// Flips the sign of stored finite values; twice gives back the same bytes. @throws
/// std::logic_error for int32
void flip_signs(DType dtype, std::span<std::byte> stored);

}  // namespace gla_bench
