#pragma once
// What the layer's host variants share, forwards and backwards: stored elements, products through
// OpenBLAS in blocks of rows, the gate, and the norm.

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/gla_layer/family.hpp"

namespace gla_bench::gla_layer {

void read(DType dtype, const void* data, std::int64_t first, std::int64_t count, float* values);
void write(DType dtype, const float* values, std::int64_t first, std::int64_t count, void* data);
float log_sigmoid(float z);
float swish(float r);

/// The sizes and tensors of one call.
class HostLayer {
 public:
  HostLayer(const Problem& problem, const GlaLayerParams& params);

 protected:
  /// Rows of a product that are converted at a time. This keeps the converted copy small.
  static constexpr std::int64_t block = 512;

  /// Takes some rows of a result.
  using Rows = std::function<void(std::int64_t first, std::int64_t count, float* values)>;
  using Row = std::function<void(std::int64_t row, float* scratch)>;

  std::vector<float> matrix(const void* data, std::int64_t count) const;
  static void multiply(std::int64_t m, std::int64_t k, std::int64_t n, const float* a,
                       const float* b, float* c);
  void product_blocks(const void* a, const void* b, std::int64_t k, std::int64_t n,
                      const Rows& take) const;
  void stored_product(const void* a, const void* b, std::int64_t k, std::int64_t n, void* c) const;
  void product(const void* a, const void* b, std::int64_t k, std::int64_t n, float* c) const;
  /// The products of x.
  void project() const;
  void over_rows(std::int64_t columns, const Row& work) const;
  void finish_gates(std::int64_t row, float* z) const;
  /// g, from low.
  void gate_blocks() const;
  float element(const void* data, std::int64_t at) const;
  void normalise(float* x) const;
  void norm_gate_row(std::int64_t row, float* x) const;

  Extents n_;
  DType dtype_;
  GlaLayerParams p_;
};

}  // namespace gla_bench::gla_layer
