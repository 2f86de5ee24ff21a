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
  /// Loads a token's keys from tiles of float32.
  __device__ __forceinline__ void load(unsigned tiles, int i, float (&row)[keys]) const {
    const unsigned first = key() / 32 * layout.tile_bytes + thread_ / lanes * 1024 + key() % 32 * 4;
    const auto at = [&](int key) {
      return ((tiles + first + 4 * key) ^ (static_cast<unsigned>(i) << 4)) + 128 * i;
    };
    if constexpr (keys == 2) {
      const float2 two = load_floats(at(0));
      row[0] = two.x, row[1] = two.y;
    } else {
#pragma unroll
      for (int n = 0; n < keys; n += 4) {
        const float4 four = load_four(at(n));
        row[n] = four.x, row[n + 1] = four.y, row[n + 2] = four.z, row[n + 3] = four.w;
      }
    }
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
