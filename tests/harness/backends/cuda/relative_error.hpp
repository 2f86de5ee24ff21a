#pragma once
// How far one tensor is from another.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
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

/// Expects each of these tensors (by name) to be within `bound` of what is expected.
template <class Expected, class Got>
void expect_near(const Expected& expected, const Got& got, double bound, const std::string& what) {
  EXPECT_EQ(got.size(), expected.size()) << what;
  for (const auto& [tensor, values] : expected)
    EXPECT_TRUE(relative_l2(got.at(tensor), values) <= bound) << what << " " << tensor;
}

/// Expects the error of `got` to be alike that of `host`: two roundings of one computation differ
/// by about their own error.
template <class Truth, class Host, class Got>
void expect_errors_alike(const Truth& truth, const Host& host, const Got& got, double least,
                         double most, const std::string& what) {
  for (const auto& [tensor, values] : truth) {
    const double ratio = relative_l2(got.at(tensor), values) / relative_l2(host.at(tensor), values);
    EXPECT_GT(ratio, least) << what << " " << tensor;
    EXPECT_LT(ratio, most) << what << " " << tensor;
  }
}

}  // namespace gla_bench::cuda
