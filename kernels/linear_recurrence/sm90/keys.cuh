#pragma once
// Which keys and tokens a thread of chunk_sm90's preparation has.

#include "linear_recurrence/sm90/scores.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Neighbouring keys of eight tokens, a part of the chunk: up to 16 bytes of a row at once.
class KeyGroup {
 public:
  static constexpr int keys = layout.neighbours, words = keys / 2;
  static constexpr int tokens = layout.tokens / layout.blocks;  ///< of a part
  static constexpr int lanes = layout.keys / keys;              ///< of a warp, that share a part

  /// What follows from it is computed anew, too: kept for all chunks it would be spilled.
  __device__ __forceinline__ KeyGroup() : thread_(anew(preparing_thread())) {}

  /// Among the threads that prepare a chunk.
  __device__ __forceinline__ int thread() const { return static_cast<int>(thread_); }
  __device__ __forceinline__ int lane() const { return thread() % lanes; }
  __device__ __forceinline__ int part() const { return thread() / lanes; }
  __device__ __forceinline__ int first_row() const { return part() * tokens; }
  /// The first.
  __device__ __forceinline__ int key() const { return lane() * keys; }
  /// Lanes of this thread's warp that have the same part.
  __device__ __forceinline__ unsigned mates() const {
    return lanes == 32 ? 0xffffffffu : 0xffffu << (threadIdx.x % 32 & 16);
  }

  /// A token's keys of a tensor's tiles.
  __device__ __forceinline__ void load(unsigned tiles, int i, unsigned (&row)[words]) const {
    load_words(at(tiles, i), row);
  }
  __device__ __forceinline__ void store(unsigned tiles, int i, const unsigned (&row)[words]) const {
    store_words(at(tiles, i), row);
  }
  __device__ __forceinline__ void clear(unsigned tiles, int i) const {
    constexpr unsigned none[words] = {};
    store(tiles, i, none);
  }

 private:
  /// Its rows begin where the eight 16-byte pieces of a row stand in order.
  __device__ __forceinline__ unsigned at(unsigned tiles, int i) const {
    const unsigned column = thread_ % lanes % (64 / keys) * (2 * keys);
    const unsigned first =
        thread_ % lanes / (64 / keys) * layout.tile_bytes + thread_ / lanes * 1024 + column;
    return ((tiles + first) ^ (static_cast<unsigned>(i) << 4)) + 128 * i;
  }

  unsigned thread_;
};

}  // namespace gla_bench::linear_recurrence::sm90
