#pragma once
// From the times of a call's parts to the times of its stages.

#include <span>
#include <string>
#include <vector>

#include "harness/backends/backend.hpp"

namespace gla_bench {

/// The time of each stage, from the seconds of each part of several calls: medians over the calls
/// of the sum of a stage's parts. The stages stand in the order in which their names come first.
/// `names`: the stage that each part belongs to.
std::vector<StageTime> medians_of_stages(std::span<const std::string> names,
                                         std::span<const std::vector<double>> calls);

}  // namespace gla_bench
