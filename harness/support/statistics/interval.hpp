#pragma once
// How far the median of a few timed samples can be trusted. Pure functions of numbers.

#include <span>

namespace gla_bench {

/// The ends of an interval, in seconds, in which a median lies with 95 % confidence.
struct Interval {
  double low = 0, high = 0;
};

/// The error of single samples, relative to the time, that is assumed before anything is known of a
/// candidate: 2 % and 0.2 us.
double assumed_noise(double seconds);

/// The interval of the median of `samples`, in seconds. Their spread is mixed with assumed_noise(),
/// which counts as much as four samples. A single sample therefore has an interval, and a few
/// samples that happen to be alike are not taken to be without noise. With 8 samples and more the
/// spread is the interquartile range's, so that a rare outlier does not widen it. NaN without
/// samples.
Interval interval_of(std::span<const double> samples);

/// Half of the interval, relative to the median.
double relative_half_width(std::span<const double> samples);

/// True where all of `slow` lies above all of `best`, even if the device became faster or slower by
/// a factor of 1 + `drift` between the two.
bool is_clear_of(const Interval& slow, const Interval& best, double drift);

}  // namespace gla_bench
