#pragma once
// The parts of attention whose keys are split over several blocks: where each block leaves its
// divided outputs and their log-sum-exp, and how a row's parts become one.
//
// Workspace from first_region on: outputs [splits, B, T, H, V] and log-sums [splits, B, T, H]
// (log2), both float32.

#include "device/math.cuh"
#include "device/types.cuh"
#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

template <int first_region>
struct SplitParts {
  const AttentionParams& p;

  __device__ __forceinline__ float* outputs() const {
    return static_cast<float*>(p.work[first_region]);
  }
  __device__ __forceinline__ float* log_sums() const {
    return static_cast<float*>(p.work[first_region + 1]);
  }
  /// The index of a row in [splits, B, T, H].
  __device__ __forceinline__ long long at(long long split, long long batch, long long query,
                                          long long head) const {
    return ((split * p.batch + batch) * p.seq + query) * p.heads + head;
  }
};

/// Merges one row's parts. The warps of a block take splits in turn. A part that saw no key holds
/// zeros and gets a weight of zero, so it needs no special case.
template <int first_region>
struct SplitMerge {
  static constexpr int warps = 4;

  const AttentionParams& p;
  long long row;  // index in [B, T, H]
  int splits;

  __device__ __forceinline__ SplitParts<first_region> parts() const { return {p}; }
  __device__ __forceinline__ long long part(int split) const {
    return split * (p.batch * p.seq * p.heads) + row;
  }
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ __forceinline__ int warp() { return static_cast<int>(threadIdx.x) / 32; }

  /// The largest log-sum of the parts; 0 where no part saw a key.
  __device__ __forceinline__ float top() const {
    float largest = device::minus_infinity();
    for (int n = lane(); n < splits; n += 32) largest = fmaxf(largest, parts().log_sums()[part(n)]);
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    return largest == device::minus_infinity() ? 0.0f : largest;
  }
  __device__ __forceinline__ float total(float base) const {
    float sum = 0.0f;
    for (int n = lane(); n < splits; n += 32)
      sum += device::exp2_fast(parts().log_sums()[part(n)] - base);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
  }
  /// The warp's contribution to one column, before the division.
  __device__ __forceinline__ float column(int at, float base) const {
    float sum = 0.0f;
#pragma unroll 8
    for (int n = warp(); n < splits; n += warps)
      sum += device::exp2_fast(parts().log_sums()[part(n)] - base) *
             parts().outputs()[part(n) * dim::value_dim + at];
    return sum;
  }
  __device__ __forceinline__ void run(float (&shares)[warps][dim::value_dim]) const {
    const float base = top(), sum = total(base), inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
    for (int at = lane(); at < dim::value_dim; at += 32) shares[warp()][at] = column(at, base);
    __syncthreads();
    const long long head = row % p.heads, query = row / p.heads % p.seq,
                    batch = row / p.heads / p.seq;
    io_t* o = static_cast<io_t*>(p.o) + batch * p.output_strides.batch +
              head * p.output_strides.heads + query * p.output_strides.seq;
    for (int at = threadIdx.x; at < dim::value_dim; at += 32 * warps) {
      float all = 0.0f;
#pragma unroll
      for (int w = 0; w < warps; ++w) all += shares[w][at];
      o[at] = device::from_float<io_t>(inverse * all);
    }
    if constexpr (trait::lse != 0)
      if (threadIdx.x == 0)
        p.lse[batch * p.lse_strides.batch + head * p.lse_strides.heads +
              query * p.lse_strides.seq] =
            sum == 0.0f ? device::minus_infinity() : (base + log2f(sum)) * device::ln_2;
  }
};

}  // namespace gla_bench::softmax_attention
