#pragma once
// Makes the series that a record keeps out of samples.

#include <span>
#include <string>

#include "harness/records/record.hpp"

namespace gla_bench {

/// Takes samples in seconds and gives the series that a record keeps, in milliseconds.
Series summarize(std::span<const double> seconds, std::string stopped_because);

}  // namespace gla_bench
