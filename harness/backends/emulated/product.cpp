#include "harness/backends/emulated/product.hpp"

#include <cstdint>
#include <vector>

#include "core/rounding.hpp"

namespace gla_bench::emulated {
namespace {

float element(const void* memory, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::bfloat16:
      return bfloat16_value(static_cast<const std::uint16_t*>(memory)[i]);
    case DType::float16:
      return float16_value(static_cast<const std::uint16_t*>(memory)[i]);
    case DType::float32:
    case DType::int32:
      break;
  }
  return static_cast<const float*>(memory)[i];
}

void store(void* memory, DType dtype, std::int64_t i, double value) {
  switch (dtype) {
    case DType::bfloat16:
      static_cast<std::uint16_t*>(memory)[i] = bfloat16_bits(static_cast<float>(value));
      return;
    case DType::float16:
      static_cast<std::uint16_t*>(memory)[i] = float16_bits(static_cast<float>(value));
      return;
    case DType::float32:
    case DType::int32:
      break;
  }
  static_cast<float*>(memory)[i] = static_cast<float>(value);
}

std::int64_t place(const MatrixOperand& operand, std::int64_t batch, std::int64_t row,
                   std::int64_t column) {
  const std::int64_t first = operand.offset + batch * operand.stride;
  return operand.transposed ? first + column * operand.ld + row : first + row * operand.ld + column;
}

/// One matrix of the batch, row by row, as the product's arithmetic sees it.
std::vector<float> read(const MatrixOperand& operand, const void* memory, std::int64_t batch,
                        std::int64_t rows, std::int64_t columns, Arithmetic arithmetic) {
  std::vector<float> values(static_cast<std::size_t>(rows * columns));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      values[static_cast<std::size_t>(i * columns + j)] =
          element(memory, operand.dtype, place(operand, batch, i, j));
  if (operand.dtype == DType::float32)
    with_operand_rounding(arithmetic, [&](auto round) {
      for (float& value : values) value = round(value);
    });
  return values;
}

}  // namespace

void multiply(const MatrixProduct& p, const Address& address) {
  void* const c = address(p.c.buffer);
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    const std::vector<float> a = read(p.a, address(p.a.buffer), batch, p.m, p.k, p.arithmetic);
    const std::vector<float> b = read(p.b, address(p.b.buffer), batch, p.k, p.n, p.arithmetic);
    std::vector<double> row(static_cast<std::size_t>(p.n));
    for (std::int64_t i = 0; i < p.m; ++i) {
      row.assign(row.size(), 0.0);
      for (std::int64_t l = 0; l < p.k; ++l)
        for (std::size_t j = 0; j < row.size(); ++j)
          row[j] += static_cast<double>(a[static_cast<std::size_t>(i * p.k + l)]) *
                    b[static_cast<std::size_t>(l * p.n) + j];
      for (std::int64_t j = 0; j < p.n; ++j) {
        const std::int64_t to = place(p.c, batch, i, j);
        const double before = p.beta == 0 ? 0 : p.beta * element(c, p.c.dtype, to);
        store(c, p.c.dtype, to, p.alpha * row[static_cast<std::size_t>(j)] + before);
      }
    }
  }
}

}  // namespace gla_bench::emulated
