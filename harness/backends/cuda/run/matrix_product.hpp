#pragma once
// Converts a row-major MatrixProduct to the equivalent column-major call. Pure: needs no CUDA.

#include <cstdint>

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

}  // namespace gla_bench::cuda
