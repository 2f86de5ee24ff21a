#pragma once
// Gates of the keys and tokens that a thread of chunk_sm90's preparation has, and their sums.
//
// A thread needs its gates twice, for their sums and to scale by, and keeps them, or the sums,
// where there are registers.

#include "linear_recurrence/chunk_sm90_bonus.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class GateSums {
 protected:
  static constexpr int parts = layout.parts, tokens = KeyPair::tokens;
  /// Gates are kept from their sums on: where four tiles of state leave the registers.
  static constexpr bool kept = !layout.frames_apart;
  /// Where a part is short, the sums are kept instead.
  static constexpr bool summed = kept && tokens <= 16;

  __device__ __forceinline__ explicit GateSums(const Block& block) : block_(block), keys_(block) {}

  __device__ __forceinline__ unsigned sums_at(int part) const {
    return block_.scratch() + layout.sums + part * layout.keys * 4 + keys_.at();
  }
  /// Behind the end of a ragged sequence lies the next one: k is made zero there.
  __device__ __forceinline__ void clear_missing(const Stage& stage, int valid) const {
    const int first = keys_.first_row();
    for (int i = valid < first ? 0 : valid - first; i < tokens; ++i)
      store_shared(keys_.word(stage.begin + layout.k, first + i), 0);
  }
  /// Gates of the part's tokens from `first` on, as they came.
  template <int count>
  __device__ __forceinline__ void load_gates(const Stage& stage, int first,
                                             unsigned (&gates)[count]) const {
#pragma unroll
    for (int i = 0; i < count; ++i)
      gates[i] = load_shared(keys_.word(stage.begin + layout.gates, keys_.first_row() + first + i));
  }
  /// Of all tokens of the part, kept or loaded once more.
  __device__ __forceinline__ void all_gates(const Stage& stage, unsigned (&gates)[tokens]) const {
    if constexpr (kept) {
#pragma unroll
      for (int i = 0; i < tokens; ++i) gates[i] = gates_[i];
    } else {
      load_gates(stage, 0, gates);
    }
  }
  /// Of eight tokens.
  __device__ __forceinline__ void eight_gates(const Stage& stage, int first,
                                              unsigned (&gates)[8]) const {
    if constexpr (kept) {
#pragma unroll
      for (int i = 0; i < 8; ++i) gates[i] = gates_[first + i];
    } else {
      load_gates(stage, first, gates);
    }
  }
  /// Adds log2 of the decays of the part's token i. Tokens that are not there do not decay.
  __device__ __forceinline__ void add_decay(float2& sum, unsigned gate, int i) const {
    if constexpr (trait::raw_gate != 0) {
      if (i >= missing_) return;
      sum.x += log2_decay(log_decay(low_of(gate))), sum.y += log2_decay(log_decay(high_of(gate)));
    } else {
      if (trait::ragged != 0 && i >= missing_) return;
      const unsigned clamped = at_least(gate, strongest_pair);
      sum.x = fmaf(low_of(clamped), device::log2_e, sum.x);
      sum.y = fmaf(high_of(clamped), device::log2_e, sum.y);
    }
  }
  /// And keeps the sums to behind each token where they are kept.
  __device__ __forceinline__ float2 sum_of_part(const Stage& stage) {
    unsigned gates[tokens];
    all_gates(stage, gates);
    float2 sum = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < tokens; ++i) {
      add_decay(sum, gates[i], i);
      if constexpr (summed) sums_[i] = sum;
    }
    return sum;
  }
  /// Sum over the parts [begin, end).
  __device__ __forceinline__ float2 sum_of_parts(int begin, int end) const {
    float2 sum = {0.0f, 0.0f};
    for (int part = begin; part < end; ++part) {
      const float2 one = load_floats(sums_at(part));
      sum.x += one.x, sum.y += one.y;
    }
    return sum;
  }

  /// Where the part begins and ends, and of the whole chunk. All threads add in the same order: a
  /// part's end is the next one's begin.
  struct Sums {
    float2 begin, end, all;
  };
  __device__ __forceinline__ Sums sums_around(int own) const {
    float2 of[parts];
#pragma unroll
    for (int part = 0; part < parts; ++part) of[part] = load_floats(sums_at(part));
    Sums sums;
    float2 sum = {0.0f, 0.0f};
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      if (part == own) sums.begin = sum;
      sum.x += of[part].x, sum.y += of[part].y;
      if (part == own) sums.end = sum;
    }
    sums.all = sum;
    return sums;
  }

  const Block& block_;
  KeyPair keys_;
  int missing_ = 0;                    // the part's tokens from here on are not there
  unsigned gates_[kept ? tokens : 1];  // pairs of bfloat16
  float2 sums_[summed ? tokens : 1];   // of decays, from the part's begin to behind each token
};

}  // namespace gla_bench::linear_recurrence::sm90
