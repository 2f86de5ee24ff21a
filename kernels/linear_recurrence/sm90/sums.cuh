#pragma once
// Gates of the keys and tokens that a preparing thread of chunk_sm90 has, and sums of them over the
// parts of the chunk.

#include "linear_recurrence/sm90/bonus.cuh"
#include "linear_recurrence/sm90/gate_rows.cuh"
#include "linear_recurrence/sm90/tables.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class GateSums {
 protected:
  static constexpr int parts = layout.blocks, tokens = KeyGroup::tokens;
  static constexpr int keys = KeyGroup::keys, words = KeyGroup::words;

  __device__ __forceinline__ explicit GateSums(const Block& block) : block_(block) {}

  /// Clears k behind the end of a ragged sequence, where the next sequence lies.
  __device__ __forceinline__ void clear_missing(const Stage& stage, int valid) const {
    const int first = keys_.first_row();
    for (int i = valid < first ? 0 : valid - first; i < tokens; ++i)
      keys_.clear(stage.begin + layout.k, i);
  }

  /// Loads the part's gates.
  __device__ __forceinline__ void load_gates(const Stage& stage, int valid) {
    gates_.load(keys_, stage, valid);
  }
  /// Adds log2 of the decays of the part's token i; `again` where this is not the first time.
  template <bool again>
  __device__ __forceinline__ void add_decay(KeySums& sum, int i) const {
    gates_.template add<again>(keys_, sum, i);
  }
  /// The sum over the whole part.
  __device__ __forceinline__ void sum_up(KeySums& sum) const {
#pragma unroll
    for (float& one : sum) one = 0.0f;
#pragma unroll
    for (int i = 0; i < tokens; ++i) add_decay<false>(sum, i);
  }

  // --- sums over the chunk. A warp has one part or two neighbouring ones. It publishes one sum per
  // key for all that it has. A sum over parts is therefore a sum over warps, plus the warp's first
  // part for a thread in its second one

  static constexpr bool pairs = KeyGroup::lanes == 16;
  static constexpr int rows = sum_rows;

  __device__ __forceinline__ int row() const {
    return keys_.part() / (parts / rows);
  }
  __device__ __forceinline__ bool second() const {
    return pairs && keys_.part() % 2 != 0;
  }
  /// The sums of the warp's other part, or zeros.
  __device__ __forceinline__ void sum_of_mate(const KeySums& sum, KeySums& other) const {
#pragma unroll
    for (int n = 0; n < keys; ++n)
      other[n] = pairs ? __shfl_xor_sync(0xffffffffu, sum[n], 16) : 0.0f;
  }
  __device__ __forceinline__ void publish(const KeySums& sum, const KeySums& other) const {
    constexpr int own = pairs ? keys / 2 : keys;  // how many of its keys' sums a lane writes
    constexpr int at_once = own < 4 ? own : 4;
    const int first = second() ? own : 0;
#pragma unroll
    for (int n = 0; n < own; n += at_once) {
      unsigned bits[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int low = n + i, high = pairs ? low + own : low;
        bits[i] = __float_as_uint(second() ? sum[high] + other[high] : sum[low] + other[low]);
      }
      store_words(sums_at(block_, row(), keys_.key() + first + n), bits);
    }
  }
  __device__ __forceinline__ void load_row(int row, KeySums& sum) const {
    constexpr int at_once = keys < 4 ? keys : 4;
#pragma unroll
    for (int n = 0; n < keys; n += at_once) {
      unsigned bits[at_once];
      load_words(sums_at(block_, row, keys_.key() + n), bits);
#pragma unroll
      for (int i = 0; i < at_once; ++i) sum[n + i] = __uint_as_float(bits[i]);
    }
  }
  /// sum += factor * the sums of a row.
  __device__ __forceinline__ void add_row(KeySums& sum, int row, float factor) const {
    KeySums other;
    load_row(row, other);
#pragma unroll
    for (int n = 0; n < keys; ++n) sum[n] = fmaf(factor, other[n], sum[n]);
  }

  const Block& block_;
  KeyGroup keys_;
  typename device::Choice<wide_gates, SharedGates, HeldGates>::type gates_;
};

}  // namespace gla_bench::linear_recurrence::sm90
