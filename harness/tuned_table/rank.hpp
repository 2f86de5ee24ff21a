#pragma once
// Ranks the candidates of one bucket, the best first. Pure functions of records.

#include <optional>
#include <span>

#include "harness/tuned_table/build.hpp"
#include "harness/tuned_table/table.hpp"

namespace gla_bench {

/// The entry of a bucket without the sources of its records, or nothing where no candidate may win.
/// `rows` holds all records of the bucket, with each candidate once per problem.
std::optional<TunedEntry> rank_bucket(const Bucket& bucket, std::span<const Record* const> rows,
                                      const TablePolicy& policy);

/// The median of a series in milliseconds with its bootstrapped interval; `ratio` holds the median.
RatioEstimate median_estimate(const std::vector<double>& samples_ms, const BootstrapPolicy& policy);

}  // namespace gla_bench
