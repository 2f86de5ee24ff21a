#pragma once
// Scores of chunk_sm90 that are finite for every decay.
//
// A warp has 16 rows, which are two blocks of eight tokens. It forms their scores by warp-level
// products. Three kinds of columns take part: the rows' own two blocks, the block before them, and
// earlier blocks as long as something is left of them after the decays. q is moved step by step
// from its own frame (frames.cuh) towards the frame of those columns, and k to the end of its
// block. The later block's own columns are met in the later block's frame. Those of the sooner
// block are met in the sooner block's frame. Where two warpgroups work on a chunk, the first takes
// the rows' own columns and the second takes the block before.

#include "linear_recurrence/sm90/frames.cuh"
#include "linear_recurrence/sm90/scores.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class StrongScores {
 public:
  using Scores = float[8 * ScoreWarp::pairs];

  __device__ __forceinline__ StrongScores(const Block& block, const Stage& stage,
                                          const ScoreWarp& warp)
      : block_(block),
        stage_(stage),
        warp_(warp),
        lane_(anew(threadIdx.x % 32)),
        rows_(static_cast<int>(anew(warp.rows()))) {}

  /// scores[8 n ...] belong to the 16 columns that lie 16 n before the warp's own rows. With two
  /// warpgroups, each has every second such group of 16 columns.
  __device__ __forceinline__ void form(Scores& scores) const {
#pragma unroll
    for (float& score : scores) score = 0.0f;
    if constexpr (alone)
      walk<true, true>(scores);
    else if (warp_.group() == 0)
      walk<true, false>(scores);
    else if (rows_ > 0)
      walk<false, true>(scores);
  }

  /// Stores the scores into their tile. value(score, row, column) is applied in the rows' own
  /// columns. Scores of later tokens become zeros.
  template <class Value>
  __device__ __forceinline__ void store(const Scores& scores, Value value) const {
#pragma unroll
    for (int distance = 0; distance < 4; ++distance) {
      const int pair = rows_ - distance;
      if (pair < 0) break;
      if (!alone && distance % 2 != warp_.group()) continue;
      const float* from = scores + 8 * (distance / layout.together);
      if (distance == 0)
        warp_.store(stage_, pair, from, value);
      else
        warp_.store(stage_, pair, from, [](float score, int, int) { return score; });
    }
    constexpr float none[8] = {};
    const int first = alone ? 0 : warp_.group();
    for (int pair = rows_ + 1 + first; pair < 4; pair += layout.together)
      warp_.store(stage_, pair, none, [](float, int, int) { return 0.0f; });
  }

 private:
  static constexpr bool alone = layout.together == 1;
  /// Number of products with 16 keys each, and how many of them load their operands together.
  static constexpr int steps = 4 * layout.key_tiles, batch = alone ? 2 : 4;
  /// Whether every second product adds into separate sums. This halves the chain of products that
  /// wait for one another.
  static constexpr bool apart = !alone;

  /// Factors of this lane's keys for each product: of its first eight keys and of its second eight.
  using Factors = unsigned[batch][2];

  // --- addresses of the first product of a batch

  __device__ __forceinline__ unsigned tile_of(int step) const {
    return stage_.begin + step / 4 * layout.tile_bytes;
  }
  __device__ __forceinline__ unsigned to_begin(int eight, int step) const {
    return factors_at(stage_, eight, step / 4) + lane_ % 4 * 32 + step % 4 * 8;
  }
  __device__ __forceinline__ unsigned from_end(int eight, int step) const {
    return to_begin(eight, step) + 128;
  }
  static __device__ __forceinline__ void load(unsigned at, Factors& factors) {
#pragma unroll
    for (int i = 0; i < batch; i += 2) {
      unsigned words[4];
      load_words(at + 8 * i, words);
      factors[i][0] = words[0], factors[i][1] = words[1];
      factors[i + 1][0] = words[2], factors[i + 1][1] = words[3];
    }
  }
  /// Loads pieces of the warp's 16 rows. `later` and `column` (16-byte pieces) say which row and
  /// column this lane gives the address of.
  __device__ __forceinline__ void load_sixteen(unsigned tile, int step, int later, int column,
                                               unsigned (&pieces)[batch][4]) const {
    const unsigned at = tile + swizzled(16 * rows_ + 8 * later + lane_ % 8, 16 * column);
#pragma unroll
    for (int i = 0; i < batch; ++i) load_matrices(at ^ ((step % 4 + i) * 32u), pieces[i]);
  }
  /// Loads k of eight tokens.
  __device__ __forceinline__ void load_eight(int eight, int step, Factors& pieces) const {
    const unsigned at = tile_of(step) + layout.k + swizzled(8 * eight + lane_ % 8, lane_ / 8 * 16);
#pragma unroll
    for (int i = 0; i < batch; i += 2) {
      unsigned words[4];
      load_matrices(at ^ ((step % 4 + i) * 32u), words);
      pieces[i][0] = words[0], pieces[i][1] = words[1];
      pieces[i + 1][0] = words[2], pieces[i + 1][1] = words[3];
    }
  }

  // --- products

  /// Forms the scores of a block's columns, then walks on to the blocks before. The warpgroup
  /// decides which of them it forms.
  template <bool own, bool before>
  __device__ __forceinline__ void walk(Scores& scores) const {
    const int sooner = 2 * rows_, later = sooner + 1;  // the two blocks of the rows
    const int next = sooner > 0 ? sooner - 1 : 0;
    float others[3][4] = {};
    int last = 0;
#pragma unroll 1
    for (int step = 0; step < steps; step += batch) {
      unsigned q[batch][4], k[batch][4];
      Factors later_begin, sooner_end, sooner_begin, next_end, next_k;
      // All loads come first, so that they overlap.
      load_sixteen(tile_of(step) + layout.q, step, lane_ / 8 % 2, lane_ / 16, q);
      if constexpr (own) load_sixteen(tile_of(step) + layout.k, step, lane_ / 16, lane_ / 8 % 2, k);
      load(to_begin(later, step), later_begin);
      load(from_end(sooner, step), sooner_end);
      if constexpr (before) {
        load(to_begin(sooner, step), sooner_begin);
        load(from_end(next, step), next_end);
        load_eight(next, step, next_k);
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const bool odd = apart && i % 2 != 0;
        if constexpr (own) product(odd ? others[1] : scores + 4, q[i], k[i][2], k[i][3]);
        q[i][1] = times(times(q[i][1], later_begin[i][0]), sooner_end[i][0]);
        q[i][3] = times(times(q[i][3], later_begin[i][1]), sooner_end[i][1]);
        if constexpr (own) product(odd ? others[0] : scores, q[i], k[i][0], k[i][1]);
      }
      if constexpr (before) {
        scale(q, sooner_begin);
#pragma unroll
        for (int i = 0; i < batch; ++i)
          product(apart && i % 2 != 0 ? others[2] : scores + 8 * (1 / layout.together) + 4, q[i],
                  times(next_k[i][0], next_end[i][0]), times(next_k[i][1], next_end[i][1]));
      }
      if (step == 0) last = farthest();
      if (last <= sooner - (before ? 2 : 3)) {
        if constexpr (!before) {
          load(to_begin(sooner, step), sooner_begin);
          scale(q, sooner_begin);
        }
        walk_back<own, before>(step, last, q, scores);
      }
    }
    if constexpr (apart) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (own) scores[i] += others[0][i], scores[4 + i] += others[1][i];
        if constexpr (before) scores[4 + i] += others[2][i];
      }
    }
  }

  /// Meets the earlier blocks, down to `last`. q arrives scaled to the beginning of the rows'
  /// blocks.
  template <bool own, bool before>
  __device__ __forceinline__ void walk_back(int step, int last, unsigned (&q)[batch][4],
                                            Scores& scores) const {
#pragma unroll
    for (int back = 1; back <= 6; ++back) {
      const int eight = 2 * rows_ - back, distance = (back + 1) / 2;
      if (eight < last) return;
      Factors begin, end;
      load(from_end(eight, step), end);
      load(to_begin(eight, step), begin);
      if (back > 1 && (distance % 2 == 0 ? own : before)) {
        Factors k;
        load_eight(eight, step, k);
        float* to = scores + 8 * (distance / layout.together) + back % 2 * 4;
#pragma unroll
        for (int i = 0; i < batch; ++i)
          product(to, q[i], times(k[i][0], end[i][0]), times(k[i][1], end[i][1]));
      }
      // The product of both factors may fall below the normal numbers. What it multiplies is then
      // at most as large as itself and contributes nothing that matters.
#pragma unroll
      for (int i = 0; i < batch; ++i)
#pragma unroll
        for (int piece = 0; piece < 2; ++piece)
          begin[i][piece] = times(begin[i][piece], end[i][piece]);
      scale(q, begin);
    }
  }

  static __device__ __forceinline__ void scale(unsigned (&q)[batch][4], const Factors& factors) {
#pragma unroll
    for (int i = 0; i < batch; ++i)
#pragma unroll
      for (int piece = 0; piece < 4; ++piece)
        q[i][piece] = times(q[i][piece], factors[i][piece / 2]);
  }
  static __device__ __forceinline__ void product(float* scores, const unsigned (&q)[4], unsigned k0,
                                                 unsigned k1) {
    float sums[4] = {scores[0], scores[1], scores[2], scores[3]};
    const unsigned k[2] = {k0, k1};
    warp_product(sums, q[0], q[1], q[2], q[3], k);
#pragma unroll
    for (int i = 0; i < 4; ++i) scores[i] = sums[i];
  }

  // --- what has decayed

  /// The first block that still matters. Every block before it is separated from the rows' sooner
  /// block, and so also from the later one, by enough decay to vanish.
  __device__ __forceinline__ int farthest() const {
    int eight = 2 * rows_ - 1, bits = 0;
    while (eight > 0) {
      bits += static_cast<int>(load_shared(fade_at(block_, eight)));
      if (bits < enough) break;
      --eight;
    }
    return eight;
  }

  const Block& block_;
  const Stage& stage_;
  const ScoreWarp& warp_;
  unsigned lane_;
  int rows_;
};

}  // namespace gla_bench::linear_recurrence::sm90
