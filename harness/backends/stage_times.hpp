#pragma once
// Computes the times of stages from the times of a call's parts.

#include <span>
#include <string>
#include <vector>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// The time of each stage, from the seconds of each part in several calls. It is the median over
/// the calls of the sum of the stage's parts. Stages are in the order in which their names first
/// appear. `names` holds the stage of each part.
std::vector<StageTime> medians_of_stages(std::span<const std::string> names,
                                         std::span<const std::vector<double>> calls);

}  // namespace gla_bench
