#pragma once
// The bonus of a token for itself, q u k. The warps of chunk_sm90 that prepare add it up over the
// keys.

#include "linear_recurrence/sm90/keys.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class Bonus {
 public:
  __device__ __forceinline__ Bonus(const ChunkSm90Params& p, const Block& block,
                                   const KeyGroup& keys)
      : shared_(block.scratch()) {
    if constexpr (there) {
      const auto* u =
          static_cast<const io_t*>(p.base.u) + static_cast<long long>(block.head) * dim::key_dim;
      const int first = block.first_key() + keys.key();
#pragma unroll
      for (int n = 0; n < KeyGroup::words; ++n)
        if (first + 2 * n < dim::key_dim)  // K is even
          bonus_[n] = device::load_pair(u + first + 2 * n);
    }
  }

  /// Adds this thread's share for token i of its part. q and k must still be as they were loaded.
  __device__ __forceinline__ void take(int i, const unsigned (&q)[KeyGroup::words],
                                       const unsigned (&k)[KeyGroup::words]) {
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < KeyGroup::words; ++n) {
      sum = fmaf(low_of(q[n]) * low_of(k[n]), bonus_[n].x, sum);
      sum = fmaf(high_of(q[n]) * high_of(k[n]), bonus_[n].y, sum);
    }
    sums_[i] = sum;
  }
  /// Adds up over the lanes that share a part, and writes the sums to shared memory.
  __device__ __forceinline__ void store(const KeyGroup& keys) {
    fold<KeyGroup::tokens / 2>(keys.lane());
    float sum = sums_[0];  // of token lane % tokens
#pragma unroll
    for (int distance = KeyGroup::tokens; distance < KeyGroup::lanes; distance *= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (keys.lane() < KeyGroup::tokens)
      store_shared(at(keys.first_row() + keys.lane()), __float_as_uint(sum));
  }
  __device__ __forceinline__ float of(int row) const {
    if constexpr (!there) return 0.0f;
    return load_float(at(row));
  }

 private:
  static constexpr bool there = trait::before_update != 0;

  __device__ __forceinline__ unsigned at(int row) const {
    return shared_ + layout.bonuses + 4 * row;
  }
  /// Adds up over the lanes that differ in the bits below 2 * half. Each step halves the number of
  /// tokens that a lane has, until it has one.
  template <int half>
  __device__ __forceinline__ void fold(int lane) {
    const bool upper = (lane & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float sent = upper ? sums_[i] : sums_[i + half];
      const float kept = upper ? sums_[i + half] : sums_[i];
      sums_[i] = kept + __shfl_xor_sync(0xffffffffu, sent, half);
    }
    if constexpr (half > 1) fold<half / 2>(lane);
  }

  unsigned shared_;
  float2 bonus_[KeyGroup::words] = {};  // u of this thread's keys
  float sums_[KeyGroup::tokens];
};

}  // namespace gla_bench::linear_recurrence::sm90
