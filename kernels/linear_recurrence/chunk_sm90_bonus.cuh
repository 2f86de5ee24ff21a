#pragma once
// Which keys and tokens a thread of chunk_sm90's preparation has, and the bonus of a token for
// itself, q u k, that it adds up over them.

#include "linear_recurrence/chunk_sm90_scores.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Two neighbouring keys of a part of the tokens.
class KeyPair {
 public:
  static constexpr int tokens = layout.tokens / layout.parts;  ///< of a part

  __device__ __forceinline__ explicit KeyPair(const Block&)
      : lane_(threadIdx.x % 32),
        part_((threadIdx.x / 32 - first_warp()) / layout.key_tiles),
        tile_((threadIdx.x / 32 - first_warp()) % layout.key_tiles) {}

  /// The same, its addresses computed once more (anew()).
  __device__ __forceinline__ KeyPair again() const {
    KeyPair pair = *this;
    asm volatile("" : "+r"(pair.lane_), "+r"(pair.part_), "+r"(pair.tile_));
    return pair;
  }

  __device__ __forceinline__ int lane() const { return lane_; }
  __device__ __forceinline__ int part() const { return part_; }
  __device__ __forceinline__ int tile() const { return tile_; }
  __device__ __forceinline__ int first_row() const { return part_ * tokens; }
  __device__ __forceinline__ int key() const { return 64 * tile_ + 2 * lane_; }
  /// Byte offset of the keys in a table of all, in float32.
  __device__ __forceinline__ unsigned at() const { return 4 * key(); }
  /// Shared address of the keys in a row of tiles.
  __device__ __forceinline__ unsigned word(unsigned tiles, int row) const {
    return tiles + tile_ * layout.tile_bytes + swizzled(row, 4 * lane_);
  }
  /// Rows `row` to `row` + 7 of the keys of a tensor's tiles. First all loads, then all stores: the
  /// compiler keeps their order.
  __device__ __forceinline__ void load(unsigned tiles, int row, unsigned (&words)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) words[i] = load_shared(word(tiles, row + i));
  }
  __device__ __forceinline__ void store(unsigned tiles, int row, const unsigned (&words)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) store_shared(word(tiles, row + i), words[i]);
  }

 private:
  int lane_, part_, tile_;
};

class Bonus {
 public:
  __device__ __forceinline__ Bonus(const ChunkSm90Params& p, const Block& block,
                                   const KeyPair& keys)
      : shared_(block.scratch()), keys_(keys) {
    if constexpr (there)
      if (const int key = block.first_key() + keys.key(); key < dim::key_dim)  // K is even
        bonus_ = device::load_pair(static_cast<const io_t*>(p.base.u) +
                                   static_cast<long long>(block.head) * dim::key_dim + key);
  }

  /// The part's token i, q and k as they came.
  __device__ __forceinline__ void take(int i, unsigned q, unsigned k) {
    sums_[i] = low_of(q) * low_of(k) * bonus_.x + high_of(q) * high_of(k) * bonus_.y;
  }
  /// Adds up over a warp's keys and leaves the sums in shared memory.
  __device__ __forceinline__ void store() {
    fold<KeyPair::tokens / 2>();
    float sum = sums_[0];  // of token lane % tokens
#pragma unroll
    for (int distance = KeyPair::tokens; distance < 32; distance *= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (keys_.lane() < KeyPair::tokens)
      store_shared(at(keys_.tile(), keys_.first_row() + keys_.lane()), __float_as_uint(sum));
  }
  __device__ __forceinline__ float of(int row) const {
    if constexpr (!there) return 0.0f;
    float sum = 0.0f;
    for (int tile = 0; tile < layout.key_tiles; ++tile) sum += load_float(at(tile, row));
    return sum;
  }

 private:
  static constexpr bool there = trait::before_update != 0;

  __device__ __forceinline__ unsigned at(int tile, int row) const {
    return shared_ + layout.bonuses + 4 * (tile * layout.tokens + row);
  }
  /// Adds up over the lanes that differ in the bits below 2 half: each step halves the tokens that
  /// a lane has, until it is its own.
  template <int half>
  __device__ __forceinline__ void fold() {
    const bool upper = (keys_.lane() & half) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float sent = upper ? sums_[i] : sums_[i + half];
      const float kept = upper ? sums_[i + half] : sums_[i];
      sums_[i] = kept + __shfl_xor_sync(0xffffffffu, sent, half);
    }
    if constexpr (half > 1) fold<half / 2>();
  }

  unsigned shared_;
  KeyPair keys_;
  float2 bonus_ = {0.0f, 0.0f};  // u of this thread's keys
  float sums_[KeyPair::tokens];
};

}  // namespace gla_bench::linear_recurrence::sm90
