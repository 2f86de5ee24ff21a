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
  /// Uploads the inputs in the problem's dtypes and layout, poisons the outputs. An output in place
  /// of an input has that input's memory; what stood there first is kept beside it.
  /// @throws InputError for a missing input, RunError
  CudaWorkset(Device& device, const Operator& op, const Problem& problem,
              const HostTensors& inputs);

  void poison_outputs() override;
  HostTensors download_outputs() override;
  std::optional<std::string> damage() override;
  bool negate_inputs() override;

  /// Null for a tensor that the problem lacks.
  std::byte* find(std::string_view name) const;

  /// Whether any input is updated in place.
  bool updates() const { return !originals_.empty(); }
  /// Puts those inputs back. Asynchronous.
  void restore_updated() const;

 private:
  // The first bytes of an input that is updated in place.
  struct Original {
    std::string name;
    std::size_t bytes = 0;
    DeviceMemory memory;
  };

  void upload(const TensorSpec& spec, const std::vector<float>& values);
  void keep_original(const TensorSpec& output);
  // An input that no run may change.
  bool is_constant(const TensorSpec& spec) const;
  // A sum over each constant input's bytes on the device, in the order of specs_.
  std::vector<unsigned long long> input_checksums() const;

  Device& device_;
  Layout layout_;
  std::vector<TensorSpec> specs_;
  std::vector<TensorSpec> negatable_;
  GuardedBuffers buffers_;  // by memory_name()
  std::vector<Original> originals_;
  DeviceMemory sums_;
  std::vector<unsigned long long> staged_sums_;
};

}  // namespace gla_bench::cuda
