#pragma once
// Other inputs of the same problem at no cost: every tensor that may have any sign is negated. A
// candidate that returns results of an earlier call gives exactly the same bits for them.

#include <cstddef>
#include <span>

#include "core/operator.hpp"

namespace gla_bench {

/// Whether negate_inputs() changes the tensor. It changes a float input that has a positive value.
/// Log decays have none and stay unchanged.
bool is_negatable(const TensorSpec& spec, std::span<const float> values);

/// The inputs with each negatable tensor negated. Infinities keep their sign, so masked elements
/// stay masked.
HostTensors negated(std::span<const TensorSpec> specs, const HostTensors& inputs);

/// Flips the sign of stored finite values. A second call restores the original bytes. @throws
/// std::logic_error for int32
void flip_signs(DType dtype, std::span<std::byte> stored);

}  // namespace gla_bench
