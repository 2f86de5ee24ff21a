#pragma once
// Sums over the lanes of a warp and the threads of a block.

namespace gla_bench::device {

inline constexpr unsigned all_lanes = 0xffffffffu;

/// Sum over groups of `width` neighbouring lanes (a power of two); every lane receives it.
template <int width = 32>
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int distance = width / 2; distance > 0; distance /= 2)
    x += __shfl_xor_sync(all_lanes, x, distance);
  return x;
}

/// Sum over a block of `threads` (a multiple of 32, at most 1024); every thread receives it.
/// `scratch`: threads / 32 floats of shared memory, free again after the next barrier.
template <int threads>
__device__ __forceinline__ float block_sum(float x, float* scratch) {
  x = warp_sum(x);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int warp = 0; warp < threads / 32; ++warp) sum += scratch[warp];
  return sum;
}

}  // namespace gla_bench::device
