#pragma once
// One problem's tensors on the device.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/backends/cuda/device/device.hpp"
#include "harness/backends/cuda/device/guarded.hpp"

namespace gla_bench::cuda {

class CudaWorkset : public Workset {
 public:
  /// Uploads the inputs in the problem's dtypes and layout, and poisons the outputs. An output that
  /// replaces an input uses that input's memory, whose original content is kept as a copy. @throws
  /// InputError for a missing input, RunError
  CudaWorkset(Device& device, const Operator& op, const Problem& problem,
              const HostTensors& inputs);

  /// A copy with memory of its own.
  CudaWorkset(const CudaWorkset& other);
  std::unique_ptr<Workset> copy() override { return std::make_unique<CudaWorkset>(*this); }
  void poison_outputs() override;
  const HostTensors& download_outputs() override;
  std::unique_ptr<OutputComparison> compare(const TensorSpec& spec, const Chunks& chunks,
                                            const ExpectedValues& expected) override;
  std::uint64_t outputs_fingerprint() override;
  bool poison_left() override;
  std::optional<std::string> damage() override;
  bool flip_signs(std::uint64_t pattern) override;

  /// The memory of a tensor, and the place of its first element in it. Null for a tensor that the
  /// problem lacks.
  std::byte* find(std::string_view name) const;
  std::byte* first_element(std::string_view name) const;

  /// Whether any input is updated in place.
  bool updates() const { return !originals_.empty(); }
  /// Restores those inputs. Asynchronous.
  void restore_updated() const;

 private:
  // The original bytes of an input that is updated in place.
  struct Original {
    std::string name;
    std::size_t bytes = 0;
    DeviceMemory memory;
  };

  void upload(const TensorSpec& spec, const std::vector<float>& values);
  void keep_original(const TensorSpec& output);
  // Whether this is an input that no run may change.
  bool is_constant(const TensorSpec& spec) const;
  using Sums = std::vector<unsigned long long>;
  // Sums that `add` forms on the device over the bytes of each tensor that `which` selects. Other
  // tensors have 0. The order is that of specs_.
  Sums sums_over(const std::function<bool(const TensorSpec&)>& which,
                 const std::function<void(const TensorSpec&, unsigned long long* sum)>& add) const;
  Sums checksums(const std::function<bool(const TensorSpec&)>& which) const;
  Sums input_checksums() const;

  Device& device_;
  Layout layout_;
  std::vector<TensorSpec> specs_;
  std::vector<TensorSpec> signed_;
  GuardedBuffers buffers_;  // by memory_name()
  std::vector<Original> originals_;
  DeviceMemory sums_;
  Sums staged_sums_;
  std::vector<std::byte> stored_;  // the downloaded bytes, kept because allocating them is slow
  HostTensors downloaded_;
  // Copies of expected values, by their id and the output's name.
  std::map<std::pair<std::uint64_t, std::string>, DeviceMemory> expected_;
};

}  // namespace gla_bench::cuda
