#pragma once
// A row-major MatrixProduct as the column-major call that computes it. Pure: needs no CUDA.

#include <cstdint>

#include "core/variant.hpp"

namespace gla_bench::cuda {

/// C[m,n] = op(A) op(B) as cuBLAS sees it: every matrix column-major, `ld` between columns.
struct ColumnMajorProduct {
  bool transpose_a = false, transpose_b = false;
  std::int64_t m = 0, n = 0, k = 0;
  MatrixOperand a, b, c;
};

/// A row-major matrix is the column-major transpose, so C = A B becomes C^T = B^T A^T: the operands
/// change places and keep their transposition.
/// @throws BuildError for a product that can not be: extents below zero, an `ld` shorter than a
/// row, a transposed result, operands of two dtypes, a result dtype that cuBLAS has not for them
ColumnMajorProduct column_major(const MatrixProduct& product);

}  // namespace gla_bench::cuda
