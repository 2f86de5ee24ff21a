#include "harness/measure/stop.hpp"

#include <algorithm>

#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {

std::optional<std::string> stop_reason(const TimingPolicy& policy, std::span<const double> samples,
                                       double elapsed_seconds) {
  const std::size_t count = samples.size();
  if (count == 0) return std::nullopt;
  if (count >= static_cast<std::size_t>(policy.max_samples)) return "samples";
  if (!(elapsed_seconds < policy.max_seconds)) return "time";
  if (count < static_cast<std::size_t>(policy.min_samples)) return std::nullopt;
  if (elapsed_seconds < policy.min_seconds) return std::nullopt;
  // The noise needs a sort. In long series it is computed only at every 32nd part of their length.
  if (count % std::max<std::size_t>(1, count / 32) != 0) return std::nullopt;
  if (relative_noise(samples) <= policy.max_noise) return "noise";
  return std::nullopt;
}

}  // namespace gla_bench
