#pragma once
// Scores of chunk_sm90 that are finite for every decay.
//
// Eight tokens have a reference of their own, r, the sum of log2 decays to their middle, rounded to
// an even number: q is 2^(b-r) of itself, k 2^(r-b), at most 2^97. A warp's 16 rows meet 16 columns
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

  /// scores[8 n ...]: of the columns 16 n before the warp's rows' own, or of each second such.
  __device__ __forceinline__ void form(float (&scores)[8 * ScoreWarp::pairs]) const {
#pragma unroll
    for (float& score : scores) score = 0.0f;
    const int far = farthest();
#pragma unroll 1
    for (int s = 0; s < 4 * layout.key_tiles; ++s) {
      Rows q;
      unsigned pieces[4];
      const unsigned tile = stage_.begin + layout.q + s / 4 * layout.tile_bytes;
      load_matrices(tile + swizzled(16 * warp_.rows() + lane_ % 16, s % 4 * 32 + lane_ / 16 * 16),
                    pieces);
      q.split(pieces);
      // The own columns and those before, which are nearly always met, without a branch between:
      // the loads of all come first.
      Columns own, before;
      load(s, warp_.rows(), own);
      load(s, warp_.rows() > 0 ? warp_.rows() - 1 : 0, before);
      meet(q, own, scores, 0);
      q.step(own.near, before.far);
      if (far > 0) meet(q, before, scores, 1);
#pragma unroll
      for (int distance = 2; distance < 4; ++distance) {
        if (distance > far) break;
        Columns next;
        load(s, warp_.rows() - distance, next);
        q.step(before.near, next.far);
        meet(q, next, scores, distance);
        before = next;
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

  /// A warp's q of 16 keys: four of each row in a lane, of the first eight rows and of the second.
  struct Rows {
    float low[4], high[4];

    __device__ __forceinline__ void split(const unsigned (&pieces)[4]) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        low[2 * i] = low_of(pieces[2 * i]), low[2 * i + 1] = high_of(pieces[2 * i]);
        high[2 * i] = low_of(pieces[2 * i + 1]), high[2 * i + 1] = high_of(pieces[2 * i + 1]);
      }
    }
    /// From one reference to another. In two halves: one factor alone may be too small for a float.
    static __device__ __forceinline__ void step(float (&rows)[4], const float (&from)[4],
                                                const float (&to)[4]) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float half = device::exp2_fast(0.5f * (from[i] - to[i]));
        rows[i] = rows[i] * half * half;
      }
    }
    __device__ __forceinline__ void step(const float (&from)[4], const float (&to)[4]) {
      step(low, from, to), step(high, from, to);
    }
  };

  /// 16 columns: k of the later eight and of the sooner, and the references of both, of this lane's
  /// keys.
  struct Columns {
    unsigned later[2], sooner[2];
    float far[4], near[4];  ///< of the later eight, of the sooner
  };

  __device__ __forceinline__ void load(int s, int pair, Columns& columns) const {
    const unsigned tile = stage_.begin + layout.k + s / 4 * layout.tile_bytes;
    const unsigned column = s % 4 * 32 + lane_ / 8 % 2 * 16, key = 4 * (16 * s + 2 * (lane_ % 4));
    load_matrices(tile + swizzled(16 * pair + 8 + lane_ % 8, column), columns.later);
    load_matrices(tile + swizzled(16 * pair + lane_ % 8, column), columns.sooner);
#pragma unroll
    for (int eight = 0; eight < 2; ++eight) {
      const float2 a = load_floats(reference_at(stage_, 2 * pair + 1, key + eight * 32));
      const float2 b = load_floats(reference_at(stage_, 2 * pair, key + eight * 32));
      columns.far[2 * eight] = a.x, columns.far[2 * eight + 1] = a.y;
      columns.near[2 * eight] = b.x, columns.near[2 * eight + 1] = b.y;
    }
  }

  /// Adds products with 16 columns, `distance` of them before the rows' own, to scores. q comes
  /// with the later eight's reference and goes on with the sooner's; of the own columns the first
  /// eight rows are before the later eight, and have the sooner's already.
  __device__ __forceinline__ void meet(Rows& q, const Columns& columns,
                                       float (&scores)[8 * ScoreWarp::pairs], int distance) const {
    const bool own = distance == 0;
    const bool mine = layout.preparers == 1 || distance % 2 == warp_.group();
    float* to = scores + 8 * (distance / layout.preparers);
    if (mine)
      product(to + 4, own ? 0u : pack(q.low[0], q.low[1]), pack(q.high[0], q.high[1]),
              own ? 0u : pack(q.low[2], q.low[3]), pack(q.high[2], q.high[3]), columns.later);
    Rows::step(q.high, columns.far, columns.near);
    if (!own) Rows::step(q.low, columns.far, columns.near);
    if (mine)
      product(to, pack(q.low[0], q.low[1]), pack(q.high[0], q.high[1]), pack(q.low[2], q.low[3]),
              pack(q.high[2], q.high[3]), columns.sooner);
  }
  static __device__ __forceinline__ void product(float* scores, unsigned a0, unsigned a1,
                                                 unsigned a2, unsigned a3, const unsigned (&k)[2]) {
    float sums[4] = {scores[0], scores[1], scores[2], scores[3]};
    warp_product(sums, a0, a1, a2, a3, k);
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[i] = sums[i];
  }

  unsigned shared_;
  const Stage& stage_;
  const ScoreWarp& warp_;
  int lane_;
};

}  // namespace gla_bench::linear_recurrence::sm90
