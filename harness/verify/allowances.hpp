#pragma once
// What of an error is the rounding of terms that cancel (Operator::cancelling_sizes).

#include <span>
#include <vector>

#include "core/tensor.hpp"

namespace gla_bench {

/// How many float32 roundings of the cancelling terms an error may consist of. A sum of 256
/// products has about eight (half its square root); one element of thousands has four times the
/// usual error.
constexpr double roundings_of_cancelling_terms = 32;
/// Up to how many times larger than what is left of them terms are where they do not cancel: sums
/// of terms of either sign come to so little by chance. Errors there have no allowance.
constexpr double terms_over_results = 4;

/// For each element what may be taken off its error. `sizes` are those of its terms. What is left
/// of them is the RMS of its row: of the elements that share all indices but the last.
/// @throws std::invalid_argument when a size does not fit the spec.
std::vector<float> allowances(const TensorSpec& spec, std::span<const double> expected,
                              std::span<const float> sizes);

/// `got`, each element nearer to what is expected by its allowance, as far as that is not passed.
/// Elements that are not finite stay as they are.
std::vector<float> without_roundings(std::span<const float> got, std::span<const double> expected,
                                     std::span<const float> allowances);

}  // namespace gla_bench
