#include "harness/measure/series.hpp"

#include <utility>

#include "harness/support/statistics/statistics.hpp"

namespace gla_bench {

Series summarize(std::span<const double> seconds, std::string stopped_because) {
  Series series;
  for (const double sample : seconds) series.samples_ms.push_back(sample * 1e3);
  series.median_ms = quantile(series.samples_ms, 0.5);
  series.min_ms = quantile(series.samples_ms, 0);
  series.p20_ms = quantile(series.samples_ms, 0.2);
  series.p80_ms = quantile(series.samples_ms, 0.8);
  series.stopped_because = std::move(stopped_because);
  return series;
}

}  // namespace gla_bench
