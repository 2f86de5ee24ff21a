#pragma once
// Converts a row-major MatrixProduct to the equivalent column-major call. Pure: needs no CUDA.

#include <cstdint>
#include <vector>

#include "core/variant.hpp"

namespace gla_bench::cuda {

/// C[m,n] = op(A) op(B) for cuBLAS. Every matrix is column-major, with `ld` elements between
/// columns.
struct ColumnMajorProduct {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  MatrixOperand a, b, c;
};

/// A row-major matrix is its transpose in column-major order, so C = A B becomes C^T = B^T A^T. The
/// operands change places and keep their transposition. @throws BuildError for an impossible
/// product: extents below zero, an `ld` shorter than a row, a transposed result, operands of two
/// dtypes, or a result dtype that cuBLAS does not offer for them
ColumnMajorProduct column_major(const MatrixProduct& product);

/// A block of cuBLAS adds up a multiple of so many terms of 16 bits.
constexpr std::int64_t terms_of_block = 64;
/// From so many terms on, a sum may be divided among blocks. The shortest sum that was seen to lack
/// terms has 2,561.
constexpr std::int64_t long_sum = 2048;

/// The products that form one without leaving out terms: itself, or two. Where cuBLAS 13.1 divides
/// a sum of 16-bit terms among blocks on an H200, and its length is a multiple of 64 and a few
/// more, it may leave out these few (docs/kernel_log.md, "A product that leaves out its last
/// terms"). They are a product of their own then. It comes first: a result of 16 bits is rounded
/// after each product, and a few terms round by little.
std::vector<MatrixProduct> whole_products(const MatrixProduct& product);

}  // namespace gla_bench::cuda
