// The arithmetic that the host variants share: exponentials of gates and products of small
// matrices.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/linear_recurrence/host/math.hpp"

namespace gla_bench {
namespace {

TEST(HostMath, ExponentialOfGates) {
  using linear_recurrence::host::exp_of_gate;
  EXPECT_EQ(exp_of_gate(0.0f), 1.0f);
  EXPECT_EQ(exp_of_gate(-INFINITY), 0.0f);
  EXPECT_EQ(exp_of_gate(-81.0f), 0.0f);
  EXPECT_TRUE(std::isnan(exp_of_gate(NAN)));
  double worst = 0;
  for (float g = -79.9f; g < 0; g += 0.00137f) {
    const double expected = std::exp(static_cast<double>(g));
    worst = std::max(worst, std::abs(exp_of_gate(g) - expected) / expected);
  }
  EXPECT_TRUE(worst <= 2e-7) << worst;
}

TEST(HostMath, ProductsOfRaggedExtents) {
  using linear_recurrence::host::add_product;
  for (const int m : {1, 4, 7})
    for (const int n : {1, 8, 13})
      for (const int k : {1, 5}) {
        const auto size = [](int rows, int columns) {
          return static_cast<std::size_t>(rows * columns);
        };
        std::vector<float> a(size(m, k)), b(size(k, n)), c(size(m, n), 1.0f),
            transposed(size(k, m));
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 5) - 2;
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3;
        for (int i = 0; i < m; ++i)
          for (int l = 0; l < k; ++l) transposed[l * m + i] = a[i * k + l];
        std::vector<float> also = c;
        add_product(m, n, k, a.data(), k, 1, b.data(), n, c.data(), n);
        add_product(m, n, k, transposed.data(), 1, m, b.data(), n, also.data(), n);
        EXPECT_EQ(c, also);
        for (int i = 0; i < m; ++i)
          for (int j = 0; j < n; ++j) {
            float sum = 1;
            for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
            ASSERT_EQ(c[i * n + j], sum);
          }
      }
}

}  // namespace
}  // namespace gla_bench
