#pragma once
// A backend that pretends to be slower than it is, to show that comparisons detect it.

#include <memory>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// Wraps a backend so that its plans report each time longer by `share` (0.03: 3 %). Results are
/// unchanged. For the self-test of `run --against`.
std::unique_ptr<Backend> slowed(std::unique_ptr<Backend> backend, double share);

}  // namespace gla_bench
