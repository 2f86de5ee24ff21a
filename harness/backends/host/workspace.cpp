#include "harness/backends/host/workspace.hpp"

namespace gla_bench {

void HostWorkspace::allocate(const Candidate& candidate) {
  regions_.clear();
  for (const Region& region : workspace_of(candidate))
    regions_.emplace_back(region.name, region.bytes);
}

void HostWorkspace::poison() {
  for (GuardedBuffer& region : regions_) region.poison();
}

std::optional<std::string> HostWorkspace::damage() const {
  for (const GuardedBuffer& region : regions_)
    if (const auto found = region.damage()) return found;
  return std::nullopt;
}

std::span<std::byte> HostWorkspace::region(std::string_view name) const {
  for (const GuardedBuffer& region : regions_)
    if (region.name() == name) return region.bytes();
  return {};
}

Address HostWorkspace::with(HostWorkset& workset) const {
  return [this, &workset](std::string_view name) -> void* {
    for (const GuardedBuffer& region : regions_)
      if (region.name() == name) return region.bytes().data();
    return workset.address(name);
  };
}

}  // namespace gla_bench
