#pragma once
// What of an error is the rounding of terms that cancel (Operator::cancelling_sizes).

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.hpp"

namespace gla_bench {

/// How many float32 roundings of the cancelling terms an error may consist of, where each term is a
/// sum of so many products. A sum of 256 products that is rounded to nearest has about eight (half
/// its square root); one element of thousands has four times the usual error. A tensor core adds 16
/// products at a time and drops what does not fit: in each of these steps up to two roundings (one
/// unit of the last place) of a partial sum, which may be twice as large as the usual sum.
constexpr double roundings_of_cancelling_terms(std::int64_t products) {
  return 32 + 4 * static_cast<double>(products) / 16;
}
/// Up to how many times larger than what is left of them terms are where they do not cancel: sums
/// of terms of either sign come to so little by chance. Errors there have no allowance.
constexpr double terms_over_results = 4;

/// For each element what may be taken off its error. `sizes` are those of its terms, each a sum of
/// `products` products. What is left of them is the RMS of its row: of the elements that share all
/// indices but the last.
/// @throws std::invalid_argument when a size does not fit the spec.
std::vector<float> allowances(const TensorSpec& spec, std::span<const double> expected,
                              std::span<const float> sizes, std::int64_t products);

/// `got`, each element nearer to what is expected by its allowance, as far as that is not passed.
/// Elements that are not finite stay as they are.
std::vector<float> without_roundings(std::span<const float> got, std::span<const double> expected,
                                     std::span<const float> allowances);

}  // namespace gla_bench
