#pragma once
// What both preparations of chunk_sm90 share: the products of a chunk's q and k, and how scores are
// written to their tile.
//
// Warp w of a warpgroup has rows 16 w to 16 w + 15. A single warpgroup has all 64 columns. Two
// warpgroups have 32 columns each.

#include "linear_recurrence/sm90/block.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class ScoreWarp {
 public:
  static constexpr int pairs = 4 / layout.together;  ///< groups of 16 columns that a warp has

  __device__ __forceinline__ ScoreWarp()
      : lane_(threadIdx.x % 32), rows_(threadIdx.x / 32 % 4), group_(on_chip ? 0 : sm90::group()) {}

  __device__ __forceinline__ int row() const { return 16 * rows_ + lane_ / 4; }
  __device__ __forceinline__ int rows() const { return rows_; }
  __device__ __forceinline__ int group() const { return group_; }

  /// Issues Q K^T of the tiles as they are, and does not wait for it. scores[4 n + i] are in
  /// wgmma's order.
  __device__ __forceinline__ void issue(const Stage& stage, float (&scores)[8 * pairs]) const {
    products_fence();
    const unsigned keys = stage.begin + layout.k + group_ * 16 * pairs * 128;
#pragma unroll
    for (int s = 0; s < 4 * layout.key_tiles; ++s) {
      const unsigned at = s / 4 * layout.tile_bytes + s % 4 * 32;
      add_product(scores, operand(stage.begin + layout.q + at), operand(keys + at), s > 0);
    }
    products_commit();
  }

  /// Rounds the scores of a warp's rows and 16 columns into their tile. Each thread has eight of
  /// them, and stores value(score, row, column) in place of each.
  template <class Value>
  __device__ __forceinline__ void store(const Stage& stage, int pair, const float* scores,
                                        Value value) const {
    unsigned pieces[4];
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      const int at = 4 * (m / 2) + m % 2 * 2, i = row() + m % 2 * 8;
      const int j = 16 * pair + m / 2 * 8 + 2 * (lane_ % 4);
      pieces[m] = pack(value(scores[at], i, j), value(scores[at + 1], i, j + 1));
    }
    const unsigned at = swizzled(16 * rows_ + lane_ % 16, 32 * pair + lane_ / 16 * 16);
    store_matrices(stage.begin + layout.scores + at, pieces[0], pieces[1], pieces[2], pieces[3]);
  }
  /// The same for all scores that issue() gave.
  template <class Value>
  __device__ __forceinline__ void store_all(const Stage& stage, const float (&scores)[8 * pairs],
                                            Value value) const {
#pragma unroll
    for (int n = 0; n < pairs; ++n) store(stage, group_ * pairs + n, scores + 8 * n, value);
  }

 private:
  static __device__ __forceinline__ void add_product(float (&d)[32], unsigned long long a,
                                                     unsigned long long b, bool add) {
    product_n64<along_k, along_k>(d, a, b, add);
  }
  static __device__ __forceinline__ void add_product(float (&d)[16], unsigned long long a,
                                                     unsigned long long b, bool add) {
    product_n32<along_k, along_k>(d, a, b, add);
  }

  int lane_, rows_, group_;
};

}  // namespace gla_bench::linear_recurrence::sm90
