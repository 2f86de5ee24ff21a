#pragma once
// A backend that is slower than it is: shows that comparisons find it.

#include <memory>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// The same backend, whose plans report each time longer by `share` (0.03: 3 %). Results are
/// untouched. For the self-test of `run --against`.
std::unique_ptr<Backend> slowed(std::unique_ptr<Backend> backend, double share);

}  // namespace gla_bench
