#pragma once
// The candidates of one bucket, best first. Pure functions of records.

#include <optional>
#include <span>

#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/table.hpp"

namespace gla_bench {

/// The entry of a bucket, but for where its records came from; nothing where no candidate may win.
/// `rows`: all records of the bucket, each candidate and problem once.
std::optional<TunedEntry> rank_bucket(const Bucket& bucket, std::span<const Record* const> rows,
                                      const TablePolicy& policy);

/// Median of a series in milliseconds with its bootstrapped interval: `ratio` is the median.
RatioEstimate median_estimate(const std::vector<double>& samples_ms, const BootstrapPolicy& policy);

}  // namespace gla_bench
