#pragma once
// Attention on the device (reference/attention.cuh): float64 reference and plain computation.

#include <optional>
#include <string>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/device.hpp"

namespace gla_bench::cuda {

/// Text that is compiled; nothing: float64, else the plain computation in that arithmetic.
std::string attention_text(std::optional<Arithmetic> arithmetic);

/// Whether the kernels know the operator (attention, decay_attention) and the problem's tensors
/// take at most `memory_bytes` on the device.
bool has_attention(const Operator& op, const Problem& problem, double memory_bytes = 48e9);

class AttentionReference {
 public:
  AttentionReference(Device& device, Compiler& compiler) : device_(device), compiler_(compiler) {}

  /// Operator::reference, outputs in logical order. @throws RunError, std::out_of_range for a
  /// missing input
  ReferenceTensors reference(const Operator& op, const Problem& problem, const HostTensors& inputs);

  /// Operator::baseline: float32, operands rounded as the arithmetic has it, outputs rounded to
  /// their dtypes.
  HostTensors baseline(const Operator& op, const Problem& problem, const HostTensors& inputs,
                       Arithmetic arithmetic);

 private:
  template <class Real>
  std::map<std::string, std::vector<Real>> compute(const Operator& op, const Problem& problem,
                                                   const HostTensors& inputs,
                                                   std::optional<Arithmetic> arithmetic);

  Device& device_;
  Compiler& compiler_;
};

}  // namespace gla_bench::cuda
