#pragma once
// The scratch memory of a candidate that runs on the host, by regions between guard zones.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/variant.hpp"
#include "harness/backends/guarded_buffer.hpp"
#include "harness/backends/host/workset.hpp"

namespace gla_bench {

class HostWorkspace {
 public:
  /// Takes the regions of the candidate, poisoned, in place of those it had. @throws OutOfMemory
  void allocate(const Candidate& candidate);
  void poison();
  std::optional<std::string> damage() const;
  /// The memory of a region; empty for a name that is none.
  std::span<std::byte> region(std::string_view name) const;
  /// The addresses of these regions and of the tensors of a workset. Both must outlive it.
  Address with(HostWorkset& workset) const;

 private:
  std::vector<GuardedBuffer> regions_;
};

}  // namespace gla_bench
