#pragma once
// Distributions that statistics rest on. They come from Boost.Math, which only the source includes.

namespace gla_bench {

/// Probability that a standard normal value lies below `z`.
double normal_cdf(double z);

/// The value below which a standard normal one lies with probability `p` in (0, 1).
double normal_quantile(double p);

/// The same for Student's t. The degrees of freedom are above 0 and need not be whole.
double student_quantile(double p, double degrees);

}  // namespace gla_bench
