#pragma once
// Two tests of an output's values that need no bound on their size: whether the errors have a
// common sign, as truncation gives them, and whether values in float32 were stored in fewer bits.
// Pure functions of numbers.

#include <cstdint>
#include <optional>
#include <span>

#include "core/tensor.hpp"
#include "harness/backends/comparison.hpp"
#include "harness/verify/tolerance.hpp"

namespace gla_bench {

/// A mean of signed errors, and how far it may be from 0.
struct SignedMean {
  double value = 0;
  double bound = 0;
};

/// The mean signed error of an output, relative to its values. Rounding to nearest errs as often
/// upwards as downwards. Where it does not (weights of nearly one leave values just below what a
/// dtype has), the exact result does not either, so errors are taken against the exact result after
/// it is rounded. Truncation of a bfloat16 output makes every element smaller, by 0.0025 on
/// the average, which the bound of its size may not see.
///
/// There are two means: of errors along the values (sum of error times value, over the sum of
/// squares), which truncation towards zero shifts, and of the errors themselves (their sum over the
/// sum of absolute values), which rounding up or down shifts. The one that is further beyond its
/// bound, or nearer to it, is returned. The bound follows from what errors without a common sign
/// would give: `sigmas` standard deviations, for the output's own rounding with every element
/// independent of the others, and for rounded factors with as many independent errors as a chunk of
/// tokens has tokens or values, whichever are fewer. Of a running sum (TensorSpec::running_sum)
/// only heads and keys err independently, and not chunks. Where energies are concentrated in few
/// elements, these count and not the others. Bounds::common is added, and to
/// the first mean Bounds::outwards or inwards, whichever way it points. Elements that are not
/// finite in the reference, and outputs without a finite one, say nothing.
/// @throws std::invalid_argument when a size does not fit the spec
SignedMean signed_mean(const TensorSpec& spec, std::span<const float> got,
                       std::span<const double> expected, const Bounds& bounds, double sigmas);

/// The same of an output that lies elsewhere.
SignedMean signed_mean(const TensorSpec& spec, OutputComparison& comparison, const Bounds& bounds,
                       double sigmas);

/// Both means of `got` against the exact result, rounded to `stored`.
/// @throws std::invalid_argument when a size does not fit the spec
SignedMeans signed_means(const TensorSpec& spec, DType stored, std::span<const float> got,
                         std::span<const double> expected);

/// The shares of the values that fit a shorter format, of those that are finite and not 0.
CoarseShares coarse_shares(std::span<const float> values);

/// The bits of a float32 output's values that were really kept, where they are fewer than a
/// float32's: 8 (bfloat16) or 11 (float16 and tf32), of more elements than the exact result or the
/// plain computation has, by half of all. Nothing where one of the two has a quarter of such values
/// itself (few tokens, or whole numbers), for outputs of another dtype, and for fewer than 32
/// elements. What is left of terms that cancelled does not count (verify/allowances.hpp).
/// @throws std::invalid_argument when a size does not fit the spec
std::optional<int> kept_bits(const TensorSpec& spec, std::span<const float> got,
                             std::span<const double> expected, const CoarseShares& plain);
/// The same of an output that lies elsewhere.
std::optional<int> kept_bits(const TensorSpec& spec, OutputComparison& comparison,
                             const CoarseShares& plain);

}  // namespace gla_bench
