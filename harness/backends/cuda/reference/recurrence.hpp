#pragma once
// The recurrence on the device (reference/linear_recurrence.cuh): float64 reference and plain
// computation.

#include <optional>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/device.hpp"

namespace gla_bench::cuda {

/// Text that is compiled for a problem of the linear-recurrence family: its key extent, member and
/// options. No arithmetic: float64, else the plain computation in that one.
std::string recurrence_text(const Operator& op, const Problem& problem,
                            std::optional<Arithmetic> arithmetic);

/// Whether the kernel knows the operator (a linear recurrence, forward).
bool has_recurrence(const Operator& op, const Problem& problem);

class Recurrence {
 public:
  /// Goes through the batch in parts that take at most `memory_bytes` on the device, though never
  /// less than one row of it.
  Recurrence(Device& device, Compiler& compiler, double memory_bytes = 8e9)
      : device_(device), compiler_(compiler), memory_bytes_(memory_bytes) {}

  /// Operator::reference, outputs in logical order. @throws RunError, InputError for a missing
  /// input
  ReferenceTensors reference(const Operator& op, const Problem& problem, const HostTensors& inputs);

  /// Operator::baseline: float32, operands rounded as the arithmetic has it, outputs rounded to
  /// their dtypes.
  HostTensors baseline(const Operator& op, const Problem& problem, const HostTensors& inputs,
                       Arithmetic arithmetic);

 private:
  template <class Real>
  std::map<std::string, std::vector<Real>> walk(const Operator& op, const Problem& problem,
                                                const HostTensors& inputs,
                                                std::optional<Arithmetic> arithmetic);

  Device& device_;
  Compiler& compiler_;
  double memory_bytes_;
};

}  // namespace gla_bench::cuda
