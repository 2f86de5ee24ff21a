#pragma once
// How a preparing thread of chunk_sm90 multiplies the decays of its keys into q and k, in place.

#include "linear_recurrence/sm90/sums.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class KeyScaling : protected GateSums {
 protected:
  static constexpr bool bonus = trait::before_update != 0;  // the state is read before the update

  __device__ __forceinline__ KeyScaling(const ChunkSm90Params& p, const Block& block)
      : GateSums(block), bonus_(p, block, keys_) {}

  /// Scales q and k of the part. The sums of log2 decays run from the reference to the state before
  /// a token (`before`) and after it (`after`). q is multiplied by 2^before or 2^after, k by
  /// 2^-after. `sum` is the sum before the part. The next rows are loaded before the current ones
  /// are stored, because the compiler keeps the order of loads and stores.
  __device__ __forceinline__ void scale(const Stage& stage, KeySums& sum) {
    Row q[2][at_once], k[2][at_once];
    load_rows(stage, 0, q[0], k[0]);
#pragma unroll
    for (int first = 0; first < tokens; first += at_once) {
      const int now = first / at_once % 2;
      if (first + at_once < tokens) load_rows(stage, first + at_once, q[1 - now], k[1 - now]);
#pragma unroll
      for (int i = 0; i < at_once; ++i) scale_row(first + i, sum, q[now][i], k[now][i]);
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        keys_.store(stage.begin + layout.q, first + i, q[now][i]);
        keys_.store(stage.begin + layout.k, first + i, k[now][i]);
      }
    }
  }

  Bonus bonus_;

 private:
  using Row = unsigned[words];
  /// Number of rows that are loaded together.
  static constexpr int at_once = 8 / words;

  __device__ __forceinline__ void load_rows(const Stage& stage, int first, Row (&q)[at_once],
                                            Row (&k)[at_once]) const {
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      keys_.load(stage.begin + layout.q, first + i, q[i]);
      keys_.load(stage.begin + layout.k, first + i, k[i]);
    }
  }
  __device__ __forceinline__ void scale_row(int i, KeySums& sum, Row& q, Row& k) {
    KeySums before;
#pragma unroll
    for (int n = 0; n < keys; ++n) before[n] = sum[n];
    add_decay<true>(sum, i);
    const KeySums& e = bonus ? before : sum;
    if constexpr (bonus) bonus_.take(i, q, k);
#pragma unroll
    for (int n = 0; n < words; ++n) {
      q[n] = scaled(q[n], device::exp2_fast(e[2 * n]), device::exp2_fast(e[2 * n + 1]));
      k[n] = scaled(k[n], device::exp2_fast(-sum[2 * n]), device::exp2_fast(-sum[2 * n + 1]));
    }
  }

 protected:
  static __device__ __forceinline__ unsigned scaled(unsigned word, float x, float y) {
    return pack(low_of(word) * x, high_of(word) * y);
  }
};

}  // namespace gla_bench::linear_recurrence::sm90
