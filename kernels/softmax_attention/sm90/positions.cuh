#pragma once
// Where queries stand among the keys, for the kernels of this folder.

#include "device/types.cuh"
#include "softmax_attention/decay_bias.cuh"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention::sm90 {

__device__ __forceinline__ int lane() {
  return static_cast<int>(threadIdx.x) % 32;
}

/// A sequence of a ragged batch: its first query and key, and how many it has.
struct Part {
  int first_query, first_key, queries, keys;
};

struct Positions {
  const AttentionParams& p;
  Part part = {};  ///< of a ragged batch: the sequence that rows and keys are counted in

  __device__ __forceinline__ int queries() const {
    return trait::ragged != 0 ? part.queries : static_cast<int>(p.seq);
  }
  __device__ __forceinline__ int keys() const {
    return trait::ragged != 0 ? part.keys : static_cast<int>(p.key_seq);
  }
  /// Where a query stands among the keys; may be below zero.
  __device__ __forceinline__ int position(int row) const {
    if constexpr (trait::ragged != 0) return row + part.keys - part.queries;
    return row + static_cast<int>(p.key_seq - p.seq);
  }
  /// The number of keys that a query sees.
  __device__ __forceinline__ int limit(int row) const {
    const int keys = this->keys();
    if constexpr (trait::causal == 0) return keys;
    const int seen = position(row) + 1;
    return seen < 0 ? 0 : seen < keys ? seen : keys;
  }
};

}  // namespace gla_bench::softmax_attention::sm90
