#pragma once
// A host candidate on memory of the caller.

#include <memory>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// `candidate` is one of a host variant.
std::unique_ptr<DirectCall> call_on_host(const Candidate& candidate, int threads);

}  // namespace gla_bench
