#pragma once
// One problem's tensors on the device.

#include <map>
#include <string>
#include <vector>

#include "harness/backend.hpp"
#include "harness/cuda/device.hpp"
#include "harness/cuda/guarded.hpp"

namespace gla_bench::cuda {

class CudaWorkset : public Workset {
 public:
  /// Uploads the inputs in the problem's dtypes and layout, poisons the outputs.
  /// @throws InputError for a missing input, RunError
  CudaWorkset(Device& device, const Operator& op, const Problem& problem,
              const HostTensors& inputs);

  void poison_outputs() override;
  HostTensors download_outputs() override;
  std::optional<std::string> damage() override;

  /// Null for a tensor that the problem lacks.
  std::byte* find(std::string_view name) const { return buffers_.find(name); }
  std::size_t bytes(std::string_view name) const { return buffers_.bytes(name); }

 private:
  // A sum over each input's bytes on the device, in the order of specs_.
  std::vector<unsigned long long> input_checksums() const;

  Device& device_;
  Layout layout_;
  std::vector<TensorSpec> specs_;
  GuardedBuffers buffers_;
  DeviceMemory sums_;
  std::vector<unsigned long long> staged_sums_;
};

}  // namespace gla_bench::cuda
