#pragma once
// How large the features of a tensor are, for the sizes of sums of its products
// (Operator::sum_sizes).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace gla_bench {

/// The mean square of each feature, where the last axis has `features` elements, over the rows
/// where it is finite (a NaN stands for what no output may depend on).
inline std::vector<double> feature_energies(std::int64_t features, std::span<const float> rows) {
  const auto width = static_cast<std::size_t>(features);
  std::vector<double> sums(width), counts(width);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!std::isfinite(rows[i])) continue;
    sums[i % width] += static_cast<double>(rows[i]) * static_cast<double>(rows[i]);
    ++counts[i % width];
  }
  for (std::size_t i = 0; i < width; ++i) sums[i] /= std::max(counts[i], 1.0);
  return sums;
}

/// The mean square of a product of a row of one tensor and a row of another, were all signs drawn.
inline double product_energy(std::span<const double> first, std::span<const double> second) {
  return std::inner_product(first.begin(), first.end(), second.begin(), 0.0);
}

}  // namespace gla_bench
