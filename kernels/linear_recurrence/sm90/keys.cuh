#pragma once
// Which keys and tokens a preparing thread of chunk_sm90 has.

#include "linear_recurrence/sm90/scores.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Neighbouring keys of eight tokens, which are one part of the chunk. A thread accesses up to 16
/// bytes of a row at once.
class KeyGroup {
 public:
  static constexpr int keys = layout.neighbours, words = keys / 2;
  static constexpr int tokens = layout.tokens / layout.blocks;  ///< of a part
  static constexpr int lanes = layout.keys / keys;              ///< of a warp, that share a part

  /// anew() makes everything that follows from the thread number be computed again. Kept over all
  /// chunks it would be spilled.
  __device__ __forceinline__ KeyGroup() : thread_(anew(preparing_thread())) {}

  /// Number of this thread among those that prepare a chunk.
  __device__ __forceinline__ int thread() const { return static_cast<int>(thread_); }
  __device__ __forceinline__ int lane() const { return thread() % lanes; }
  __device__ __forceinline__ int part() const { return thread() / lanes; }
  __device__ __forceinline__ int first_row() const { return part() * tokens; }
  /// The first of the thread's keys.
  __device__ __forceinline__ int key() const { return lane() * keys; }
  /// Mask of the lanes of this warp that have the same part.
  __device__ __forceinline__ unsigned mates() const {
    return lanes == 32 ? 0xffffffffu : 0xffffu << (threadIdx.x % 32 & 16);
  }

  /// Loads a token's keys from a tensor's tiles.
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
  /// Shared address of row i of this thread's part. The part's rows begin where the eight 16-byte
  /// pieces of a row stand in order, so XOR with the row number gives the swizzled place.
  __device__ __forceinline__ unsigned at(unsigned tiles, int i) const {
    const unsigned column = thread_ % lanes % (64 / keys) * (2 * keys);
    const unsigned first =
        thread_ % lanes / (64 / keys) * layout.tile_bytes + thread_ / lanes * 1024 + column;
    return ((tiles + first) ^ (static_cast<unsigned>(i) << 4)) + 128 * i;
  }

  unsigned thread_;
};

}  // namespace gla_bench::linear_recurrence::sm90
