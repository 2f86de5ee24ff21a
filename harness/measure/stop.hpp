#pragma once
// When a series of samples is long enough: a pure function of numbers.

#include <optional>
#include <span>
#include <string>

#include "harness/config/config.hpp"

namespace gla_bench {

/// "samples": there are max_samples. "time": max_seconds of wall time are over. "noise": there are
/// at least min_samples and min_seconds, and relative_noise() is at most max_noise. Nothing: go on.
/// Without a sample the answer is always to go on, so that no series is empty.
std::optional<std::string> stop_reason(const TimingPolicy& policy, std::span<const double> samples,
                                       double elapsed_seconds);

}  // namespace gla_bench
