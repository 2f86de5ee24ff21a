#pragma once
// Statistics of samples, as pure functions. None drops an outlier.

#include <span>

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

}  // namespace gla_bench
