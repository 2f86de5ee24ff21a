#pragma once
// How a thread of chunk_sm90's preparation puts the decays of its keys into q and k, eight tokens
// at a time, in place.

#include "linear_recurrence/chunk_sm90_sums.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class KeyScaling : protected GateSums {
 protected:
  static constexpr bool bonus = trait::before_update != 0;  // the state is read before the update

  __device__ __forceinline__ KeyScaling(const ChunkSm90Params& p, const Block& block)
      : GateSums(block), bonus_(p, block, keys_) {}

  static __device__ __forceinline__ unsigned scaled(unsigned word, float x, float y) {
    return pack(low_of(word) * x, high_of(word) * y);
  }
  /// q and k of the part's eight tokens from `first` on: q times 2^before or 2^after, k times
  /// 2^-after, where the log2 decays from the reference to the state before a token and behind it
  /// are these. `sum`: that before the first of them; behind the last when it returns.
  __device__ __forceinline__ void scale_block(const Stage& stage, int first, const unsigned* gates,
                                              float2& sum) {
    const int row = keys_.first_row() + first;
    unsigned q[8], k[8];
    keys_.load(stage.begin + layout.q, row, q);
    keys_.load(stage.begin + layout.k, row, k);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float2 before = sum;
      add_decay(sum, gates[i], first + i);
      const float2 e = bonus ? before : sum;
      if constexpr (bonus) bonus_.take(first + i, q[i], k[i]);
      q[i] = scaled(q[i], device::exp2_fast(e.x), device::exp2_fast(e.y));
      k[i] = scaled(k[i], device::exp2_fast(-sum.x), device::exp2_fast(-sum.y));
    }
    keys_.store(stage.begin + layout.q, row, q);
    keys_.store(stage.begin + layout.k, row, k);
  }

  /// The same of loaded rows, with sums that are known: `sums` behind each token and `before` the
  /// first, both measured from where `begin` is the decay from the reference.
  __device__ __forceinline__ void scale_rows(int first, float2 begin, float2 before,
                                             const float2 (&sums)[8], unsigned (&q)[8],
                                             unsigned (&k)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float2 behind = {begin.x + sums[i].x, begin.y + sums[i].y};
      float2 e = behind;
      if constexpr (bonus) {
        const float2 last = i > 0 ? sums[i - 1] : before;
        e = {begin.x + last.x, begin.y + last.y};
        bonus_.take(first + i, q[i], k[i]);
      }
      q[i] = scaled(q[i], device::exp2_fast(e.x), device::exp2_fast(e.y));
      k[i] = scaled(k[i], device::exp2_fast(-behind.x), device::exp2_fast(-behind.y));
    }
  }

  __device__ __forceinline__ void scale_summed(const Stage& stage, int first, float2 begin) {
    const int row = keys_.first_row() + first;
    unsigned q[8], k[8];
    keys_.load(stage.begin + layout.q, row, q);
    keys_.load(stage.begin + layout.k, row, k);
    float2 sums[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) sums[i] = sums_[first + i];
    float2 before = {0.0f, 0.0f};
    if (first > 0) before = sums_[first - 1];
    scale_rows(first, begin, before, sums, q, k);
    keys_.store(stage.begin + layout.q, row, q);
    keys_.store(stage.begin + layout.k, row, k);
  }

  Bonus bonus_;
};

}  // namespace gla_bench::linear_recurrence::sm90
