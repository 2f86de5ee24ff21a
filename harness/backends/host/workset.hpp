#pragma once
// The tensors of one problem in the host's memory, each between guard zones.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/backend.hpp"
#include "harness/backends/guarded_buffer.hpp"

namespace gla_bench {

class HostWorkset final : public Workset {
 public:
  /// Copies the inputs in the problem's layout. @throws OutOfMemory
  HostWorkset(const Operator& op, const Problem& problem, const HostTensors& inputs);
  HostWorkset(const HostWorkset& other);

  std::unique_ptr<Workset> copy() override { return std::make_unique<HostWorkset>(*this); }
  void poison_outputs() override;
  const HostTensors& download_outputs() override;
  std::optional<std::string> damage() override;
  bool flip_signs(std::uint64_t pattern) override;
  std::uint64_t outputs_fingerprint() override;

  /// Restores the inputs that are updated in place. Returns false where there are none.
  bool restore_updated();
  /// Of a tensor's first element; null for one that the problem lacks.
  void* address(std::string_view name);

 private:
  struct Memory {
    GuardedBuffer buffer;
    std::vector<std::byte> original;  // of an input, as it was stored
    bool updated;                     // whether an output replaces this input
  };

  Layout layout_;
  std::vector<TensorSpec> specs_;
  std::vector<TensorSpec> signed_;
  std::map<std::string, Memory, std::less<>> memory_;  // by memory_name()
  HostTensors downloaded_;
};

}  // namespace gla_bench
