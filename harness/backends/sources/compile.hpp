#pragma once
// Builds candidates without running them, for `gla-bench compile`.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/backend.hpp"

namespace gla_bench {

struct Compiled {
  std::optional<BuildInfo> build;  ///< nothing when the build failed
  std::string error;               ///< the compiler's log, or what the architecture does not allow
};

/// Builds every candidate for the backend's architecture, in parallel. The results are in the order
/// of the candidates. `finished` (may be empty) is called after each build with its index, from the
/// calling thread.
std::vector<Compiled> compile_candidates(Backend& backend, std::span<const Candidate> candidates,
                                         const std::function<void(std::size_t)>& finished = {});

}  // namespace gla_bench
