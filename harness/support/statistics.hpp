#pragma once
// Pure functions of samples. None drops an outlier.

#include <span>
#include <string>
#include <vector>

#include "harness/records/record.hpp"

namespace gla_bench {

/// The value below which a share `p` in [0,1] of the samples lies, linear between neighbours (the
/// extremes are p = 0 and 1). NaN without samples, or with a NaN among them.
double quantile(std::span<const double> samples, double p);

double median(std::span<const double> samples);

/// How far the median of these samples is from the true one, relative to it: its standard error,
/// 1.2533 sigma / sqrt(n), with sigma from the interquartile range (IQR / 1.349), so that rare
/// outliers do not keep a steady series running. Infinite with fewer than 4 samples, or a median
/// that is not positive.
double relative_noise(std::span<const double> samples);

/// The stages' times, out of the seconds of each part of several calls: medians over the calls of
/// the sum of a stage's parts, in the order in which the names come first. `names`: each part's
/// stage.
std::vector<StageTime> medians_of_stages(std::span<const std::string> names,
                                         std::span<const std::vector<double>> calls);

/// Samples in seconds as the record keeps them, in milliseconds.
Series summarize(std::span<const double> seconds, std::string stopped_because);

}  // namespace gla_bench
