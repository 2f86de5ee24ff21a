#include "harness/backends/cuda/run/matrix_product.hpp"

#include <string>

#include "core/error.hpp"

namespace gla_bench::cuda {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw BuildError("matrix product: " + reason);
}

// `columns` counts the columns of the matrix as it is stored in memory.
void check_rows(const MatrixOperand& operand, std::int64_t columns) {
  if (operand.ld < columns)
    refuse("rows of '" + operand.buffer + "' are " + std::to_string(columns) +
           " long but only ld=" + std::to_string(operand.ld) + " apart");
  if (operand.offset < 0 || operand.stride < 0)
    refuse("'" + operand.buffer + "' has a negative offset or stride");
}

}  // namespace

std::vector<MatrixProduct> whole_products(const MatrixProduct& product) {
  const std::int64_t rest = product.k % terms_of_block;
  if (product.a.dtype == DType::float32 || product.k < long_sum || rest == 0) return {product};
  MatrixProduct last = product, first = product;
  first.k = product.k - rest;
  last.k = rest;
  last.a.offset += first.k * (last.a.transposed ? last.a.ld : 1);
  last.b.offset += first.k * (last.b.transposed ? 1 : last.b.ld);
  first.beta = 1;
  return {last, first};
}

ColumnMajorProduct column_major(const MatrixProduct& product) {
  if (product.m < 0 || product.n < 0 || product.k < 0 || product.batch < 0)
    refuse("an extent is negative");
  if (product.c.transposed) refuse("the result '" + product.c.buffer + "' cannot be transposed");
  if (product.a.dtype != product.b.dtype)
    refuse("'" + product.a.buffer + "' and '" + product.b.buffer + "' differ in dtype");
  if (product.c.dtype != product.a.dtype && product.c.dtype != DType::float32)
    refuse("the result '" + product.c.buffer + "' is neither float32 nor of the operands' dtype");
  check_rows(product.a, product.a.transposed ? product.m : product.k);
  check_rows(product.b, product.b.transposed ? product.k : product.n);
  check_rows(product.c, product.n);
  return {product.b.transposed,
          product.a.transposed,
          product.n,
          product.m,
          product.k,
          product.b,
          product.a,
          product.c};
}

}  // namespace gla_bench::cuda
