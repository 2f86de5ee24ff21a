// two_pass: the backward of softmax as its formula says: the sum of y dy, then the differences.
//
// Idea: two passes over the row, each of which reads y and dy from memory.
//
// Grid: ceil(rows / launch::rows) blocks; tile::threads threads share a row. Shared memory: one
// float for each warp. Bytes moved: y and dy twice, dx once; y and dy once
// where the L2 cache holds the rows that are at work at a time.

#include "softmax_attention/rows/backward/rows.cuh"

namespace gla_bench::softmax_attention::two_pass {

constexpr int threads = tile::threads, width = launch::width, batch = 4;

/// Calls body(elements, index) for each of the thread's vectors, four of which are on their way at
/// a time.
template <typename Body>
__device__ __forceinline__ void each(const GradientRow<width>& row, const Body& body) {
  for (long long first = threadIdx.x % threads; first < row.vectors; first += batch * threads) {
    Gradients<width> elements[batch];
#pragma unroll
    for (int n = 0; n < batch; ++n) elements[n] = row.load(first + n * threads);
#pragma unroll
    for (int n = 0; n < batch; ++n) body(elements[n], first + n * threads);
  }
}

}  // namespace gla_bench::softmax_attention::two_pass

extern "C" __global__ void __launch_bounds__(tile::threads* launch::rows)
    softmax_backward_two_pass(const __grid_constant__ gla_bench::SoftmaxBackwardParams p) {
  using namespace gla_bench::softmax_attention;
  using namespace gla_bench::softmax_attention::two_pass;
  __shared__ float scratch[32];
  const GradientRow<width> row(
      p, static_cast<long long>(blockIdx.x) * launch::rows + threadIdx.x / threads);
  float sum = 0.0f;
  each(row, [&](const Gradients<width>& elements, long long) { sum += elements.sum(); });
  const float all = sum_over_threads<threads>(sum, scratch, [] { __syncthreads(); });
  each(row,
       [&](const Gradients<width>& elements, long long index) { row.store(index, elements, all); });
}
