#pragma once
// How far two results lie apart.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gla_bench {

/// ||a - b|| / ||a||. Equal infinities and NaN in the same places differ by 0; infinite where only
/// one result has them.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, whole = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] ? std::isinf(a[i]) : std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      return std::numeric_limits<double>::infinity();
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    whole += a[i] * a[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / whole);
}

inline bool has_nan(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); });
}

}  // namespace gla_bench
