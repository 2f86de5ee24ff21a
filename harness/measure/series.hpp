#pragma once
// From samples to the series that a record keeps.

#include <span>
#include <string>

#include "harness/records/record.hpp"

namespace gla_bench {

/// Samples in seconds as the record keeps them, in milliseconds.
Series summarize(std::span<const double> seconds, std::string stopped_because);

}  // namespace gla_bench
