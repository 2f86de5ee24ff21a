#pragma once
// Statistics of samples, as pure functions. None drops an outlier.

#include <span>

namespace gla_bench {

/// Of a normal distribution: the standard error of a median over that of a mean, sqrt(pi / 2), and
/// the width between its quartiles in standard deviations.
inline constexpr double median_error_over_mean_error = 1.2533;
inline constexpr double sigmas_between_quartiles = 1.349;

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
