#pragma once
// What tokens of a chunk are to each other where the decays are strong: no single reference keeps
// the factors of all pairs of a query i and a key j in range.
//
// The highest bit in which i and j differ, h, says which block of 2 h tokens holds both, with j in
// its first half and i in its second. With the sum of the decays at the end of the first half as
// reference, neither token's factor exceeds 1. So there are six levels, h = 32, 16, ..., 1. At each
// of them every token is a key in a first half or a query in a second half, and one tile of scaled
// tokens X serves all: A = X X^T, and with dA of the level's pairs, X^T (dA + dA^T) has the
// gradients of queries and of keys. The pairs i = j are the diagonal, which needs no factor.

#include "linear_recurrence/backward/sm90/scores.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// Whether element (n, r, e)'s token is in the second half of its block of 2 h tokens.
template <int h>
__device__ __forceinline__ bool is_query(int n, int e) {
  if constexpr (h >= 8) return (n & h / 8) != 0;
  if constexpr (h == 1) return e != 0;
  return (threadIdx.x % 4 * 2 & h) != 0;
}

/// The sum of the decays at the end of the first half of a token's block.
template <int h>
__device__ __forceinline__ float level_reference(const KeyDecays& own, int n, int r) {
  if constexpr (h >= 8) {
    constexpr int block = h / 4;
    return __shfl_sync(0xffffffffu, own.sum((n & ~(block - 1)) + h / 8 - 1, r, 1), 3, 4);
  }
  if constexpr (h == 4) return __shfl_sync(0xffffffffu, own.sum(n, r, 1), 1, 4);
  if constexpr (h == 2)
    return __shfl_sync(0xffffffffu, own.sum(n, r, 1), static_cast<int>(threadIdx.x) & 2, 4);
  return own.sum(n, r, 0);
}

/// Whether the pair of a query and a key belongs to the level.
template <int h>
__device__ __forceinline__ bool in_level(int i, int j) {
  return i > j && (i ^ j) >= h && (i ^ j) < 2 * h;
}

/// Where the levels' tiles are.
struct LevelTiles {
  unsigned tokens;            ///< X, all keys
  unsigned scores, d_scores;  ///< A and dA
  unsigned q, k;              ///< all keys, not scaled
  unsigned v, d_o;
};

/// One level: adds to `dq` and `dk`, elements [keys, tokens] of the gradients without dq's factor
/// `scale`, adds q dq - k dk to `p` as the rounded tokens give it and, with a bonus, q dq to
/// `q_dq`, and adds the level's scores to the tile of A.
template <int h>
__device__ __forceinline__ void add_level(const LevelTiles& tiles, const KeyDecays& own, int warp,
                                          float scale, float (&dq)[32], float (&dk)[32],
                                          float (&p)[32], float (&q_dq)[32]) {
  const unsigned place = Columns::place(tiles.tokens + group() * tile_bytes, 16 * warp);
#pragma unroll
  for (int m = 0; m < 4; ++m) {
    SomeColumns<1> q, k;
    q.load(Columns::place(tiles.q + group() * tile_bytes, 16 * warp) + m * 2048);
    k.load(Columns::place(tiles.k + group() * tile_bytes, 16 * warp) + m * 2048);
    const KeyDecays::Own each(own, m);
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const int half = pair / 2, n = 2 * m + half, r = pair % 2;
      const float reference = level_reference<h>(own, n, r);
      float x[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const bool query = is_query<h>(n, e);
        const float sum =
            query ? own.sum_of_query(n, r, e, bonus ? each.bits(n, r, e) : 0.0f) : own.sum(n, r, e);
        const float factor = device::exp2_fast(query ? sum - reference : reference - sum);
        x[e] = (query ? scale * q.at(half, r, e) : k.at(half, r, e)) * factor;
      }
      k.set(half, r, x[0], x[1]);
    }
    k.store(place + m * 2048);
  }
  float d[32];
  if (group() == groups - 1) {  // dA of the level's pairs
    multiply_rows<value_tiles, ByWarps>(d, tiles.d_o, tiles.v);
    store_square(tiles.d_scores, d,
                 [](float x, int i, int j, int, int, int) { return in_level<h>(i, j) ? x : 0.0f; });
  }
  named_barrier<consumers>(1);
  if (group() == 0) {  // A of the level's pairs
    multiply_rows<layout.key_tiles, ByWarps>(d, tiles.tokens, tiles.tokens);
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int i = 16 * warp + lane / 4 + 8 * r, j = 8 * n + lane % 4 * 2;
        const unsigned to = tiles.scores + swizzled(i, 2 * j);
        // A pair of neighbouring keys is of one level, except that the diagonal may be beside it.
        if (h > 1 && in_level<h>(i, j)) store_shared(to, pack(d[at(n, r, 0)], d[at(n, r, 1)]));
        if (h == 1 && in_level<h>(i, j))
          store_shared(to, pack(d[at(n, r, 0)], high_of(load_shared(to))));
      }
  }
#pragma unroll
  for (int m = 0; m < 4; ++m)
    WarpProducts<64>::shared<along_k, along_mn>(
        d, operand(tiles.tokens + group() * tile_bytes + m * 2048),
        operand(tiles.d_scores + m * 32), m > 0);
#pragma unroll
  for (int m = 0; m < 4; ++m)
    WarpProducts<64>::shared<along_mn, along_mn>(
        d, operand(tiles.tokens + group() * tile_bytes + m * 2048),
        operand(tiles.d_scores + m * 2048), true);
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    const KeyDecays::Own each(own, n / 2);
    SomeColumns<1> x;
    x.load(place + n / 2 * 2048);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float reference = level_reference<h>(own, n, r);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int i = at(n, r, e);
        if (is_query<h>(n, e)) {
          const float sum = own.sum_of_query(n, r, e, bonus ? each.bits(n, r, e) : 0.0f);
          dq[i] = fmaf(d[i], device::exp2_fast(sum - reference), dq[i]);
          p[i] = fmaf(x.at(n % 2, r, e), d[i], p[i]);
          if constexpr (bonus) q_dq[i] = fmaf(x.at(n % 2, r, e), d[i], q_dq[i]);
        } else {
          dk[i] = fmaf(d[i], device::exp2_fast(reference - own.sum(n, r, e)), dk[i]);
          p[i] = fmaf(-x.at(n % 2, r, e), d[i], p[i]);
        }
      }
    }
  }
  named_barrier<consumers>(1);
}

/// All levels. The diagonals of A and dA are for the caller: A's must be in the tile of A, whose
/// other elements must be 0.
__device__ __forceinline__ void add_levels(const LevelTiles& tiles, const KeyDecays& own, int warp,
                                           float scale, float (&dq)[32], float (&dk)[32],
                                           float (&p)[32], float (&q_dq)[32]) {
  add_level<32>(tiles, own, warp, scale, dq, dk, p, q_dq);
  add_level<16>(tiles, own, warp, scale, dq, dk, p, q_dq);
  add_level<8>(tiles, own, warp, scale, dq, dk, p, q_dq);
  add_level<4>(tiles, own, warp, scale, dq, dk, p, q_dq);
  add_level<2>(tiles, own, warp, scale, dq, dk, p, q_dq);
  add_level<1>(tiles, own, warp, scale, dq, dk, p, q_dq);
}

}  // namespace gla_bench::linear_recurrence::backward::sm90
