#pragma once
// Where queries stand among the keys, for the kernels of this folder.

#include "device/types.cuh"
#include "softmax_attention/decay_bias.cuh"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention::sm90 {

__device__ __forceinline__ int lane() {
  return static_cast<int>(threadIdx.x) % 32;
}

struct Positions {
  const AttentionParams& p;

  /// Where a query stands among the keys; may be below zero.
  __device__ __forceinline__ int position(int row) const {
    return row + static_cast<int>(p.key_seq - p.seq);
  }
  /// The number of keys that a query sees.
  __device__ __forceinline__ int limit(int row) const {
    const int keys = static_cast<int>(p.key_seq);
    if constexpr (trait::causal == 0) return keys;
    const int seen = position(row) + 1;
    return seen < 0 ? 0 : seen < keys ? seen : keys;
  }
};

}  // namespace gla_bench::softmax_attention::sm90
