#pragma once
// What the kernels of softmax's backward share: vectors of y and dy, and sums over the threads of a
// row. Sums form in a fixed order.

#include "device/types.cuh"
#include "softmax_attention/rows/backward/params.h"

namespace gla_bench::softmax_attention {

/// Gives the sum of `threads` neighbouring threads (a power of two) to all of them. Where they are
/// more than a warp every thread calls this, `scratch` has one place for each warp, and sync()
/// synchronizes all of them.
template <int threads, typename Sync>
__device__ __forceinline__ float sum_over_threads(float sum, float* scratch, const Sync& sync) {
  constexpr int lanes = threads < 32 ? threads : 32;
#pragma unroll
  for (int lane = lanes / 2; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if constexpr (threads > 32) {
    constexpr int warps = threads / 32;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    sync();  // the sums of the row before have been read
    if (lane == 0) scratch[warp] = sum;
    sync();
    sum = scratch[warp / warps * warps + lane % warps];
#pragma unroll
    for (int lanes_left = warps / 2; lanes_left > 0; lanes_left /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, lanes_left);
  }
  return sum;
}

/// `width` neighbouring elements of y and of dy, as they are stored.
template <int width>
struct Gradients {
  using Vector = device::Pack<io_t, width>;
  Vector y, dy;

  __device__ __forceinline__ float sum() const {
    float all = 0.0f;
#pragma unroll
    for (int n = 0; n < width; ++n)
      all = fmaf(device::to_float(y.value[n]), device::to_float(dy.value[n]), all);
    return all;
  }
  __device__ __forceinline__ Vector of_x(float scale, float sum_of_row) const {
    Vector dx;
#pragma unroll
    for (int n = 0; n < width; ++n)
      dx.value[n] = device::from_float<io_t>(scale * device::to_float(y.value[n]) *
                                             (device::to_float(dy.value[n]) - sum_of_row));
    return dx;
  }
};

/// One row in device memory.
template <int width>
struct GradientRow {
  using Vector = device::Pack<io_t, width>;
  const Vector* y;
  const Vector* dy;
  Vector* dx;
  long long vectors;
  float scale;

  __device__ __forceinline__ GradientRow(const SoftmaxBackwardParams& p, long long row)
      : y(reinterpret_cast<const Vector*>(static_cast<const io_t*>(p.y) + row * p.columns)),
        dy(reinterpret_cast<const Vector*>(static_cast<const io_t*>(p.dy) + row * p.columns)),
        dx(reinterpret_cast<Vector*>(static_cast<io_t*>(p.dx) + row * p.columns)),
        vectors(row < p.rows ? p.columns / width : 0),
        scale(p.scale) {}

  __device__ __forceinline__ Gradients<width> load(long long index) const {
    Gradients<width> both;
    if (index < vectors) {
      both = {y[index], dy[index]};
    } else {
#pragma unroll
      for (int n = 0; n < width; ++n)
        both.y.value[n] = both.dy.value[n] = device::from_float<io_t>(0.0f);
    }
    return both;
  }
  __device__ __forceinline__ void store(long long index, const Gradients<width>& both,
                                        float sum_of_row) const {
    if (index < vectors) dx[index] = both.of_x(scale, sum_of_row);
  }
};

}  // namespace gla_bench::softmax_attention
