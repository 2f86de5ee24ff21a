#pragma once
// The recurrence on the device (reference/linear_recurrence.cuh): float64 reference and plain
// computation.

#include <optional>

#include "harness/backend.hpp"
#include "harness/cuda/device.hpp"

namespace gla_bench::cuda {

/// Text that is compiled for a key extent; nothing: float64, else the plain computation in that
/// arithmetic.
std::string recurrence_text(std::int64_t key_dim, std::optional<Arithmetic> arithmetic);

/// Whether the kernel knows the operator (gla, forward).
bool has_recurrence(const Operator& op, const Problem& problem);

/// Outputs in logical order. Goes through the batch in parts that take at most some 8 GB of device
/// memory.
/// @throws RunError, InputError for a missing input
ReferenceTensors float64_recurrence(Device& device, Compiler& compiler, const Operator& op,
                                    const Problem& problem, const HostTensors& inputs);

/// The same in float32 with operands rounded as the arithmetic has it, outputs rounded to their
/// dtypes: what Operator::baseline defines.
HostTensors plain_recurrence(Device& device, Compiler& compiler, const Operator& op,
                             const Problem& problem, const HostTensors& inputs,
                             Arithmetic arithmetic);

}  // namespace gla_bench::cuda
