#pragma once
// Where a sequence's tokens, states and chunks lie, ragged (cu_seqlens) or not.

#include "linear_recurrence/params.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence {

/// The range that a block walks over.
struct WalkRange {
  /// Batch index and head. For ragged sequences the batch index is 0, because all sequences lie one
  /// after the other. They are stored ready to use, because a division at each chunk would take
  /// longer than its loads.
  long long batch, head;
  int slice;             ///< its columns of V start at slice * block_v
  long long begin, end;  ///< tokens; if there are none, the state is copied
  const void* initial;   ///< state before `begin`, or null: zero
  void* final;           ///< state after `end`, or null
  /// Where to store the product of the decays ([K], or one number where all keys share it), or
  /// null. Only without outputs.
  float* decay = nullptr;
  const float* initial_normalizer = nullptr;  ///< [K], or null: zero
  float* final_normalizer = nullptr;          ///< [K], or null
};

/// The state with number `sequence` (index * heads + head). Null if `states` is null.
__device__ __forceinline__ state_t* given_state(float* states, long long sequence) {
  return states == nullptr
             ? nullptr
             : reinterpret_cast<state_t*>(states) + sequence * dim::key_dim * dim::value_dim;
}
__device__ __forceinline__ const state_t* given_state(const float* states, long long sequence) {
  return given_state(const_cast<float*>(states), sequence);
}

template <typename T>
__device__ __forceinline__ T* normalizer(T* all, long long sequence) {
  return all == nullptr ? nullptr : all + sequence * dim::key_dim;
}

/// Slots for chunks of `chunk` tokens in the workspace. Those of sequence n begin at first_slot().
/// With ragged sequences, a head's sequences share seq / chunk + N slots, and sequence n begins at
/// slot cu_seqlens[n] / chunk + n. That leaves each sequence at least as many slots as it has
/// chunks.
template <int chunk>
struct ChunkSlots {
  const LinearRecurrenceParams& p;

  /// Number of slots of one sequence or, ragged, of all sequences of a head.
  __device__ __forceinline__ long long group() const {
    return trait::ragged ? p.seq / chunk + p.sequences : (p.seq + chunk - 1) / chunk;
  }
  /// Where the slots of a sequence begin in its group.
  __device__ __forceinline__ long long offset(long long n) const {
    return trait::ragged ? p.cu_seqlens[n] / chunk + n : 0;
  }
  __device__ __forceinline__ long long first_slot(long long sequence) const {
    return trait::ragged ? sequence % p.heads * group() + offset(sequence / p.heads)
                         : sequence * group();
  }
  __device__ __forceinline__ long long count(long long sequence) const {
    return (span_of(p, sequence / p.heads).tokens + chunk - 1) / chunk;
  }
  /// The ragged sequence that owns a slot of a group: the last one that starts at or before it. A
  /// whole warp must call this. Each of its lanes tries one of 32 places at a time.
  __device__ __forceinline__ long long owner(long long slot) const {
    long long first = 0, count = p.sequences;
    while (count > 1) {
      const long long step = (count + 31) / 32, mine = threadIdx.x % 32 * step;
      const bool at_or_before = mine < count && offset(first + mine) <= slot;
      const int last = __popc(__ballot_sync(0xffffffffu, at_or_before)) - 1;
      first += last * step;
      count = count - last * step < step ? count - last * step : step;
    }
    return first;
  }
};

}  // namespace gla_bench::linear_recurrence
