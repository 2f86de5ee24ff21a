#pragma once
// Executes an operator's device reference (Operator::device_reference).

#include <optional>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/device.hpp"

namespace gla_bench::cuda {

/// Bytes that a reference may take on the device.
struct ReferenceMemory {
  double whole = 48e9;  ///< of a problem that is computed at once
  double part = 8e9;    ///< of some rows of the batch, where it is split; one row may take more
};

/// Whether the operator has kernels for the problem and they fit into memory.
bool has_device_reference(const Operator& op, const Problem& problem,
                          std::optional<Arithmetic> arithmetic, const ReferenceMemory& memory = {});

/// For problems with has_device_reference().
class ReferenceRunner {
 public:
  ReferenceRunner(Device& device, Compiler& compiler, const ReferenceMemory& memory = {})
      : device_(device), compiler_(compiler), memory_(memory) {}

  /// Operator::reference, outputs in logical order. @throws RunError, BuildError, InputError or
  /// std::out_of_range for a missing input
  ReferenceTensors reference(const Operator& op, const Problem& problem, const HostTensors& inputs);

  /// Operator::baseline: float32, operands rounded as the arithmetic has it, outputs rounded to
  /// their dtypes.
  HostTensors baseline(const Operator& op, const Problem& problem, const HostTensors& inputs,
                       Arithmetic arithmetic);

 private:
  Device& device_;
  Compiler& compiler_;
  ReferenceMemory memory_;
};

}  // namespace gla_bench::cuda
