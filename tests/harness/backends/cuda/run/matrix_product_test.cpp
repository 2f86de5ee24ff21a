#include "harness/backends/cuda/run/matrix_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/error.hpp"

namespace gla_bench::cuda {
namespace {

using Memory = std::vector<double>;

// What the BLAS standard says of gemm: column-major, op(A) is m x k, op(B) is k x n.
void column_major_gemm(const ColumnMajorProduct& p, double alpha, double beta, const double* a,
                       const double* b, double* c) {
  for (std::int64_t j = 0; j < p.n; ++j)
    for (std::int64_t i = 0; i < p.m; ++i) {
      double sum = 0;
      for (std::int64_t l = 0; l < p.k; ++l)
        sum += (p.transpose_a ? a[l + i * p.a.ld] : a[i + l * p.a.ld]) *
               (p.transpose_b ? b[j + l * p.b.ld] : b[l + j * p.b.ld]);
      c[i + j * p.c.ld] = alpha * sum + beta * c[i + j * p.c.ld];
    }
}

// What MatrixProduct promises: row-major, as its comment says.
void row_major_product(const MatrixProduct& p, const double* a, const double* b, double* c) {
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < p.k; ++l)
        sum += (p.a.transposed ? a[l * p.a.ld + i] : a[i * p.a.ld + l]) *
               (p.b.transposed ? b[j * p.b.ld + l] : b[l * p.b.ld + j]);
      c[i * p.c.ld + j] = p.alpha * sum + p.beta * c[i * p.c.ld + j];
    }
}

Memory numbers(std::size_t count, double phase) {
  Memory list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = std::sin(phase + static_cast<double>(i));
  return list;
}

MatrixProduct product(bool transpose_a, bool transpose_b) {
  MatrixProduct p;
  p.m = 3, p.n = 4, p.k = 5;
  p.alpha = 0.5, p.beta = -2;
  p.a = {"a", DType::float32, 0, transpose_a ? 6 : 7, 0, transpose_a};
  p.b = {"b", DType::float32, 0, transpose_b ? 8 : 5, 0, transpose_b};
  p.c = {"c", DType::float32, 0, 9, 0, false};
  return p;
}

// A product over so many terms, in 16 bits, that begins somewhere in its buffers.
MatrixProduct long_product(std::int64_t terms, bool transpose_a, bool transpose_b) {
  MatrixProduct p;
  p.m = 2, p.n = 3, p.k = terms;
  p.alpha = 0.5, p.beta = -2;
  p.a = {"a", DType::bfloat16, 5, transpose_a ? 4 : terms + 1, 0, transpose_a};
  p.b = {"b", DType::bfloat16, 7, transpose_b ? terms + 2 : 6, 0, transpose_b};
  p.c = {"c", DType::float32, 0, 3, 0, false};
  return p;
}

TEST(WholeProducts, TheLastTermsOfALongSumAreAProductOfTheirOwn) {
  const std::int64_t terms = 64 * 40 + 3;
  for (bool transpose_a : {false, true})
    for (bool transpose_b : {false, true}) {
      const MatrixProduct p = long_product(terms, transpose_a, transpose_b);
      const std::vector<MatrixProduct> parts = whole_products(p);
      ASSERT_EQ(parts.size(), 2u);
      EXPECT_EQ(parts[0].k, 3);  // Their rounding to a short result is small.
      EXPECT_EQ(parts[1].k, terms - 3);
      const Memory a = numbers(6 * terms, 0.1), b = numbers(8 * terms, 0.7);
      Memory expected = numbers(9, 1.3), got = expected;
      row_major_product(p, a.data() + p.a.offset, b.data() + p.b.offset, expected.data());
      for (const MatrixProduct& part : parts)
        row_major_product(part, a.data() + part.a.offset, b.data() + part.b.offset, got.data());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], expected[i], 1e-10) << transpose_a << transpose_b << " at " << i;
    }
}

TEST(WholeProducts, AreOneWhereNoTermIsLeftOut) {
  EXPECT_EQ(whole_products(long_product(64 * 40, true, false)).size(), 1u);
  EXPECT_EQ(whole_products(long_product(64 * 31 + 1, true, false)).size(), 1u);
  MatrixProduct p = long_product(64 * 40 + 3, true, false);
  p.a.dtype = p.b.dtype = DType::float32;
  EXPECT_EQ(whole_products(p).size(), 1u);
}

TEST(MatrixProduct, TheColumnMajorCallComputesTheRowMajorProduct) {
  for (bool transpose_a : {false, true})
    for (bool transpose_b : {false, true}) {
      const MatrixProduct p = product(transpose_a, transpose_b);
      const ColumnMajorProduct call = column_major(p);
      const Memory a = numbers(64, 0.1), b = numbers(64, 0.7);
      Memory expected = numbers(64, 1.3), got = expected;
      row_major_product(p, a.data(), b.data(), expected.data());
      const auto memory = [&](const MatrixOperand& operand) {
        return operand.buffer == "a" ? a.data() : b.data();
      };
      column_major_gemm(call, p.alpha, p.beta, memory(call.a), memory(call.b), got.data());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], expected[i], 1e-14) << transpose_a << transpose_b << " at " << i;
    }
}

TEST(MatrixProduct, RefusesWhatCanNotBe) {
  EXPECT_NO_THROW(column_major(product(false, true)));
  const auto refused = [](auto change) {
    MatrixProduct p = product(false, true);
    change(p);
    EXPECT_THROW(column_major(p), BuildError);
  };
  refused([](MatrixProduct& p) { p.c.transposed = true; });
  refused([](MatrixProduct& p) { p.a.dtype = DType::bfloat16; });
  refused([](MatrixProduct& p) { p.c.dtype = DType::bfloat16; });
  refused([](MatrixProduct& p) { p.m = -1; });
  refused([](MatrixProduct& p) { p.a.ld = 4; });
  refused([](MatrixProduct& p) { p.b.ld = 4; });
  refused([](MatrixProduct& p) { p.c.ld = 3; });
  refused([](MatrixProduct& p) { p.a.offset = -1; });
}

}  // namespace
}  // namespace gla_bench::cuda
