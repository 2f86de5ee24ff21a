#pragma once
// Scores of chunk_sm90 that are finite for every decay.
//
// Eight tokens have a reference of their own, r, the sum of log2 decays to their middle, rounded to
// a whole number: q is 2^(b-r) of itself, k 2^(r-b), at most 2^96. A warp's 16 rows meet 16 columns
// at a time, from their own on backwards, by products of warps: q steps from reference to
// reference, which only shrinks it, and is exact. Columns behind which everything has decayed are
// left out.

#include "linear_recurrence/chunk_sm90_scores.cuh"

namespace gla_bench::linear_recurrence::sm90 {

__device__ __forceinline__ unsigned reference_at(const Stage& stage, int block, unsigned key) {
  return stage.begin + layout.references + block * layout.keys * 4 + key;
}

/// Bits that the least of a warp's keys decay by over eight tokens, at most: to be told by a warp.
__device__ __forceinline__ void store_fade(const Block& block, int tile, int number, float bits) {
  const int most = __reduce_max_sync(0xffffffffu, static_cast<int>(ceilf(bits)));
  if (threadIdx.x % 32 == 0)
    store_shared(block.shared + layout.fades + 4 * (tile * layout.blocks + number),
                 static_cast<unsigned>(most));
}

class StrongScores {
 public:
  __device__ __forceinline__ StrongScores(const Block& block, const Stage& stage,
                                          const ScoreWarp& warp)
      : shared_(block.shared), stage_(stage), warp_(warp), lane_(threadIdx.x % 32) {}

  /// scores[8 n ...]: of the columns `distance` = first() + n * step before the warp's rows' own.
  __device__ __forceinline__ void form(float (&scores)[8 * ScoreWarp::pairs]) const {
#pragma unroll
    for (float& score : scores) score = 0.0f;
    const int far = farthest();
    for (int s = 0; s < 4 * layout.key_tiles; ++s) {
      unsigned q[4];
      const unsigned tile = stage_.begin + layout.q + s / 4 * layout.tile_bytes;
      load_matrices(tile + swizzled(16 * warp_.rows() + lane_ % 16, s % 4 * 32 + lane_ / 16 * 16),
                    q);
      // Rows of the first eight tokens: pieces 0 and 2; of the second: 1 and 3.
      float low[4] = {low_of(q[0]), high_of(q[0]), low_of(q[2]), high_of(q[2])};
      float high[4] = {low_of(q[1]), high_of(q[1]), low_of(q[3]), high_of(q[3])};
#pragma unroll
      for (int distance = 0; distance < 4; ++distance) {
        if (distance > far) break;
        const int pair = warp_.rows() - distance;
        const bool mine = layout.preparers == 1 || (distance & 1) == warp_.group();
        float* to = scores + 8 * (layout.preparers == 1 ? distance : distance / 2);
        step_block(s, 2 * pair + 1, distance == 0, mine, low, high, to + 4);
        step_block(s, 2 * pair, false, mine, low, high, to, distance == 0);
      }
    }
  }

  /// Into their tile; zeros for later tokens' columns.
  template <class Value>
  __device__ __forceinline__ void store(const float (&scores)[8 * ScoreWarp::pairs],
                                        Value value) const {
    constexpr int step = layout.preparers;
    const int first = layout.preparers == 1 ? 0 : warp_.group();
#pragma unroll
    for (int n = 0; n < ScoreWarp::pairs; ++n) {
      const int pair = warp_.rows() - first - n * step;
      if (pair >= 0) warp_.store(stage_, pair, scores + 8 * n, value);
    }
    constexpr float none[8] = {};
    for (int pair = warp_.rows() + 1 + first; pair < 4; pair += step)
      warp_.store(stage_, pair, none, [](float, int, int) { return 0.0f; });
  }

 private:
  static constexpr int enough = -40;  // bits: what has decayed by more is not missed

  __device__ __forceinline__ int fade(int block) const {
    int most = -1000000;
    for (int tile = 0; tile < layout.key_tiles; ++tile) {
      const int bits = static_cast<int>(
          load_shared(shared_ + layout.fades + 4 * (tile * layout.blocks + block)));
      most = bits > most ? bits : most;
    }
    return most;
  }
  /// How many pairs of columns before its own a warp's rows have to meet.
  __device__ __forceinline__ int farthest() const {
    int bits = 0, distance = 0;
    while (distance < warp_.rows()) {
      if (distance > 0) {
        const int between = 2 * (warp_.rows() - distance);
        bits += fade(between) + fade(between + 1);
        if (bits < enough) break;
      }
      ++distance;
    }
    return distance;
  }

  /// Eight columns. Their k has the reference of `block`; q has that of the block behind, or of its
  /// own rows: the second eight rows' is that of the rows' last block, where the first eight rows
  /// are before the columns.
  __device__ __forceinline__ void step_block(int s, int block, bool last, bool mine,
                                             float (&low)[4], float (&high)[4], float* scores,
                                             bool own_of_low = false) const {
    unsigned k[2];
    const unsigned tile = stage_.begin + layout.k + s / 4 * layout.tile_bytes;
    if (mine)
      load_matrices(tile + swizzled(8 * block + lane_ % 8, s % 4 * 32 + lane_ / 8 % 2 * 16), k);
    if (!last) {
      float half[4];  // two factors: one alone may be too small for a float
      float rest[4];
      read_step(s, block, half, rest);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        high[i] = high[i] * half[i] * rest[i];
        if (!own_of_low) low[i] = low[i] * half[i] * rest[i];
      }
    }
    if (!mine) return;
    float sums[4] = {scores[0], scores[1], scores[2], scores[3]};
    warp_product(sums, last ? 0u : pack(low[0], low[1]), pack(high[0], high[1]),
                 last ? 0u : pack(low[2], low[3]), pack(high[2], high[3]), k);
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[i] = sums[i];
  }

  /// 2^(reference of the block behind - reference of this one), of the keys that this lane holds,
  /// as two factors.
  __device__ __forceinline__ void read_step(int s, int block, float (&half)[4],
                                            float (&rest)[4]) const {
    const unsigned key = 4 * (16 * s + 2 * (lane_ % 4));
#pragma unroll
    for (int eight = 0; eight < 2; ++eight) {
      const float2 to = load_floats(reference_at(stage_, block, key + eight * 32));
      const float2 from = load_floats(reference_at(stage_, block + 1, key + eight * 32));
      const float bits[2] = {from.x - to.x, from.y - to.y};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float first = floorf(0.5f * bits[i]);
        half[2 * eight + i] = device::exp2_fast(first);
        rest[2 * eight + i] = device::exp2_fast(bits[i] - first);
      }
    }
  }

  unsigned shared_;
  const Stage& stage_;
  const ScoreWarp& warp_;
  int lane_;
};

}  // namespace gla_bench::linear_recurrence::sm90
