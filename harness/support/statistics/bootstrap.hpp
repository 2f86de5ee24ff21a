#pragma once
// How far a ratio of medians can be trusted. Pure functions: the same numbers give the same answer,
// whatever the machine.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gla_bench {

struct BootstrapPolicy {
  double confidence = 0.95;  ///< confidence level of the interval
  int resamples = 2000;
  std::uint64_t seed = 1;
};

/// New time over base time, above 1 where the new one takes longer.
struct RatioEstimate {
  double ratio = 0;  ///< the median; NaN where there is nothing to compare
  double low = 0;    ///< of the interval
  double high = 0;   ///< of the interval
  double p = 1;  ///< probability of a difference at least like this one if there is none in truth
  std::size_t count = 0;  ///< number of rounds; for unpaired samples the smaller of the two numbers
};

/// The first autocorrelation of a series, 0 for one that is shorter than 4 or constant to 1e-9.
double autocorrelation(std::span<const double> series);

/// The length of the blocks in which a series is resampled, so that correlated neighbours stay
/// together. It is Carlstein's rule for a first-order autoregression, (sqrt(6) r / (1 - r^2))^(2/3)
/// n^(1/3). It is at most a third of the series, and 1 where neighbours are not correlated.
std::size_t block_length(std::span<const double> series);

/// Two-sided exact sign test of `above` and `below`. The rounds are worth `share` times as many
/// independent ones. 1 without rounds.
double sign_test(std::size_t above, std::size_t below, double share = 1);

/// Ratio of paired rounds: the median of new/base round by round. The interval is the percentile
/// bootstrap of that median over blocks of rounds, its level widened for few rounds (Student's t
/// against the normal); `p` is the sign test's, over as many rounds as are independent.
/// NaN for times that are not positive and finite. @throws std::invalid_argument where the numbers
/// of rounds differ
RatioEstimate paired_ratio(std::span<const double> base, std::span<const double> fresh,
                           const BootstrapPolicy& policy = {});

/// Ratio of the medians of two series that were measured one after the other. Blocks of each are
/// drawn again on their own; the interval is widened by what may have drifted between them: a
/// factor of 1 + `drift` either way. `p` is by the normal distribution, beyond the drift.
RatioEstimate unpaired_ratio(std::span<const double> base, std::span<const double> fresh,
                             double drift, const BootstrapPolicy& policy = {});

/// The geometric mean of ratios over several problems, which were estimated without drift. Their
/// intervals are independent, so that their squares add. The drift is common to all of them and
/// widens the whole. NaN, and a count of 0, without ratios.
RatioEstimate mean_ratio(std::span<const RatioEstimate> ratios, double drift);

/// Rounds out of samples: the median of each `samples` in a row.
/// @throws std::invalid_argument where they do not come out even
std::vector<double> medians_of_rounds(std::span<const double> times, std::size_t samples);

}  // namespace gla_bench
