#pragma once
// Executes an operator's device reference (Operator::device_reference).

#include <optional>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/device.hpp"

namespace gla_bench::cuda {

/// The device memory that a reference may use, in bytes.
struct ReferenceMemory {
  double whole = 48e9;  ///< of a problem that is computed as a whole
  double part = 8e9;    ///< of some batch rows of a split problem; a single row may take more
};

/// Whether the operator has kernels for the problem, and its tensors fit into this memory.
bool has_device_reference(const Operator& op, const Problem& problem,
                          std::optional<Arithmetic> arithmetic, const ReferenceMemory& memory = {});

/// For problems with has_device_reference().
class ReferenceRunner {
 public:
  ReferenceRunner(Device& device, Compiler& compiler, const ReferenceMemory& memory = {})
      : device_(device), compiler_(compiler), memory_(memory) {}

  /// Operator::reference with outputs in logical order. @throws RunError, BuildError, and
  /// InputError or std::out_of_range for a missing input
  ReferenceTensors reference(const Operator& op, const Problem& problem, const HostTensors& inputs);

  /// Operator::baseline: float32, with operands rounded as in the arithmetic.
  HostTensors baseline(const Operator& op, const Problem& problem, const HostTensors& inputs,
                       Arithmetic arithmetic);

 private:
  Device& device_;
  Compiler& compiler_;
  ReferenceMemory memory_;
};

}  // namespace gla_bench::cuda
