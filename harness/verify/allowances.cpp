#include "harness/verify/allowances.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gla_bench {
namespace {

double rms_of_row(std::span<const double> row) {
  double squares = 0;
  for (const double value : row)
    if (std::isfinite(value)) squares += value * value;
  return std::sqrt(squares / static_cast<double>(row.size()));
}

}  // namespace

std::vector<float> allowances(const TensorSpec& spec, std::span<const double> expected,
                              std::span<const float> sizes, std::int64_t products) {
  const auto count = static_cast<std::size_t>(spec.elements());
  if (expected.size() != count || sizes.size() != count)
    throw std::invalid_argument("'" + spec.name + "' does not have the size of its spec");
  std::vector<float> list(count);
  const double roundings = roundings_of_cancelling_terms(products);
  const std::size_t width =
      spec.extents.empty() ? 1 : static_cast<std::size_t>(spec.extents.back());
  for (std::size_t first = 0; first < count; first += width) {
    const double left = terms_over_results * rms_of_row(expected.subspan(first, width));
    for (std::size_t i = first; i < first + width; ++i) {
      const double over = std::max(0.0, static_cast<double>(sizes[i]) - left);
      list[i] = static_cast<float>(roundings * 0x1p-24 * over);
    }
  }
  return list;
}

std::vector<float> without_roundings(std::span<const float> got, std::span<const double> expected,
                                     std::span<const float> allowances) {
  std::vector<float> list(got.begin(), got.end());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const double error = static_cast<double>(got[i]) - expected[i];
    const auto allowed = static_cast<double>(allowances[i]);
    if (!std::isfinite(error) || !(allowed > 0)) continue;
    list[i] = std::abs(error) <= allowed
                  ? static_cast<float>(expected[i])
                  : static_cast<float>(got[i] - std::copysign(allowed, error));
  }
  return list;
}

}  // namespace gla_bench
