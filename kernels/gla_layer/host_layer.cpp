#include "kernels/gla_layer/host_layer.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "core/rounding.hpp"

namespace gla_bench::gla_layer {

void read(DType dtype, const void* data, std::int64_t first, std::int64_t count, float* values) {
  const auto* words = static_cast<const std::uint16_t*>(data) + first;
  if (dtype == DType::float32)
    std::copy_n(static_cast<const float*>(data) + first, count, values);
  else if (dtype == DType::bfloat16)
    for (std::int64_t i = 0; i < count; ++i) values[i] = bfloat16_value(words[i]);
  else
    for (std::int64_t i = 0; i < count; ++i) values[i] = float16_value(words[i]);
}

void write(DType dtype, const float* values, std::int64_t first, std::int64_t count, void* data) {
  auto* words = static_cast<std::uint16_t*>(data) + first;
  if (dtype == DType::float32)
    std::copy_n(values, count, static_cast<float*>(data) + first);
  else if (dtype == DType::bfloat16)
    for (std::int64_t i = 0; i < count; ++i) words[i] = bfloat16_bits(values[i]);
  else
    for (std::int64_t i = 0; i < count; ++i) words[i] = float16_bits(values[i]);
}

float log_sigmoid(float z) {
  return std::min(z, 0.0f) - std::log1p(std::exp(-std::abs(z)));
}

float swish(float r) {
  return r / (1 + std::exp(-r));
}

HostLayer::HostLayer(const Problem& problem, const GlaLayerParams& params)
    : n_(extents(problem)), dtype_(problem.dtype), p_(params) {}

std::vector<float> HostLayer::matrix(const void* data, std::int64_t count) const {
  std::vector<float> values(static_cast<std::size_t>(count));
  read(dtype_, data, 0, count, values.data());
  return values;
}

// c = a b for some rows of a, all in float32.
void HostLayer::multiply(std::int64_t m, std::int64_t k, std::int64_t n, const float* a,
                         const float* b, float* c) {
  const auto size = [](std::int64_t extent) { return static_cast<blasint>(extent); };
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1.0f, a,
              size(k), b, size(n), 0.0f, c, size(n));
}

// Multiplies all rows of a, in blocks. take(first row, rows, values) receives each block of the
// result.
void HostLayer::product_blocks(const void* a, const void* b, std::int64_t k, std::int64_t n,
                               const Rows& take) const {
  const std::vector<float> weight = matrix(b, k * n);
  const std::int64_t most = std::min(block, n_.rows);
  std::vector<float> rows(static_cast<std::size_t>(most * k));
  std::vector<float> result(static_cast<std::size_t>(most * n));
  for (std::int64_t first = 0; first < n_.rows; first += block) {
    const std::int64_t count = std::min(block, n_.rows - first);
    read(dtype_, a, first * k, count * k, rows.data());
    multiply(count, k, n, rows.data(), weight.data(), result.data());
    take(first, count, result.data());
  }
}

void HostLayer::stored_product(const void* a, const void* b, std::int64_t k, std::int64_t n,
                               void* c) const {
  product_blocks(a, b, k, n, [&](std::int64_t first, std::int64_t count, const float* values) {
    write(dtype_, values, first * n, count * n, c);
  });
}

void HostLayer::product(const void* a, const void* b, std::int64_t k, std::int64_t n,
                        float* c) const {
  product_blocks(a, b, k, n, [&](std::int64_t first, std::int64_t count, const float* values) {
    std::copy_n(values, count * n, c + first * n);
  });
}

void HostLayer::project() const {
  stored_product(p_.x, p_.w_q, n_.model, n_.keys, p_.q);
  stored_product(p_.x, p_.w_k, n_.model, n_.keys, p_.k);
  stored_product(p_.x, p_.w_v, n_.model, n_.values, p_.v);
  stored_product(p_.x, p_.w_r, n_.model, n_.values, p_.r);
  stored_product(p_.x, p_.w_1, n_.model, rank, p_.low);
}

// Calls work(row, scratch of `columns` floats) for all rows, in parallel.
void HostLayer::over_rows(std::int64_t columns, const Row& work) const {
#pragma omp parallel if (n_.rows * columns > 65536)
  {
    std::vector<float> scratch(static_cast<std::size_t>(columns));
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < n_.rows; ++row) work(row, scratch.data());
  }
}

void HostLayer::finish_gates(std::int64_t row, float* z) const {
  for (std::int64_t i = 0; i < n_.keys; ++i)
    z[i] = log_sigmoid(z[i] + element(p_.b_g, i)) * p_.gate_factor;
  write(dtype_, z, row * n_.keys, n_.keys, p_.g);
}

void HostLayer::gate_blocks() const {
  product_blocks(p_.low, p_.w_2, rank, n_.keys,
                 [this](std::int64_t first, std::int64_t count, float* values) {
#pragma omp parallel for schedule(static) if (count * n_.keys > 65536)
                   for (std::int64_t i = 0; i < count; ++i)
                     finish_gates(first + i, values + i * n_.keys);
                 });
}

float HostLayer::element(const void* data, std::int64_t at) const {
  float value = 0;
  read(dtype_, data, at, 1, &value);
  return value;
}

// Normalises every head of a row in place.
void HostLayer::normalise(float* x) const {
  for (float* head = x; head < x + n_.values; head += n_.value_dim) {
    float mean = 0, variance = 0;
    for (std::int64_t i = 0; i < n_.value_dim; ++i) mean += head[i];
    mean /= static_cast<float>(n_.value_dim);
    for (std::int64_t i = 0; i < n_.value_dim; ++i) variance += (head[i] - mean) * (head[i] - mean);
    variance /= static_cast<float>(n_.value_dim);
    const float factor = 1 / std::sqrt(variance + p_.epsilon);
    for (std::int64_t i = 0; i < n_.value_dim; ++i) head[i] = (head[i] - mean) * factor;
  }
}

void HostLayer::norm_gate_row(std::int64_t row, float* x) const {
  const std::int64_t at = row * n_.values;
  read(dtype_, p_.o, at, n_.values, x);
  normalise(x);
  for (std::int64_t i = 0; i < n_.values; ++i)
    x[i] *= swish(element(p_.r, at + i) + element(p_.b_r, i));
  write(dtype_, x, at, n_.values, p_.gated);
}

}  // namespace gla_bench::gla_layer
