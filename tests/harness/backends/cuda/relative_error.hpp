#pragma once
// How far one tensor is from another.

#include <cmath>
#include <vector>

namespace gla_bench::cuda {

/// The norm of the difference over the norm of what is expected, or the former where the latter is
/// 0. Infinities of one sign are the same, and so are NaNs: sequences that a problem fills with NaN
/// stay so. A NaN in one of the two makes it NaN, which is below no bound.
template <class A, class B>
double relative_l2(const std::vector<A>& got, const std::vector<B>& expected) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto a = static_cast<double>(got.at(i)), b = static_cast<double>(expected[i]);
    if ((a == b && std::isinf(b)) || (std::isnan(a) && std::isnan(b))) continue;
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

}  // namespace gla_bench::cuda
