#pragma once
// The decays of a chunk walk where each token has one decay, its own or its head's. k and q go to
// the tensor cores as they are. The decays are applied to the sums and to v instead:
//   o_i = row_i (S^T q_i) + sum_j A_ij v_j,  S = decay S + sum_j k_j (key_j v_j)^T,
//   A_ij = pair_ij q_i.k_j,  row_i = d_0..d_i,  key_j = d_(j+1)..d_end,  pair_ij = d_(j+1)..d_i,
// with d_t = e^(g_t). No factor is above 1, and none is a quotient of long products.
//
// per_head: the factors are powers of one number, pair_ij = powers[i - j].
//
// per_token: a factor combines two numbers. For i in a block of 8 tokens after j's block, pair_ij =
// between[j's block][i] suffix[j]. Here suffix runs from j to the end of its block, and between
// from there to i. Inside a block both refer to its middle, as in operands.cuh: middle[i]
// inverse[j].
//
// Only what is divided by is made of clamped gates (device/math.cuh): the factors inside a block.
// What multiplies the state is not, since a state may be large.
//
// One warp works ahead: during chunk c it forms the factors of the next chunk that has none yet,
// from gates that it loaded during chunk c - 1. This is the last warp, which is dealt the fewest
// scores, so that nobody waits for it.

#include "device/math.cuh"
#include "linear_recurrence/chunk/walk_tiles.cuh"
#include "linear_recurrence/params.h"

namespace gla_bench::linear_recurrence {

template <typename Tiles>
struct ScalarFactors {
  static constexpr int chunk = Tiles::chunk, blocks = chunk / 8;
  static constexpr bool per_head = trait::decay == 1, per_token = trait::decay == 2;
  /// Tokens of each lane of the warp that forms the factors.
  static constexpr int lane_tokens = (chunk + 31) / 32;

  const Tiles& tiles;

  __device__ __forceinline__ float* row(int c) const { return tiles.factors(c, 0); }
  __device__ __forceinline__ float* key(int c) const { return tiles.factors(c, 1); }
  __device__ __forceinline__ float* decay(int c) const {
    return tiles.factors(c, Tiles::layout.factor_arrays);
  }

  /// The gates of a chunk's tokens, loaded from the address of the chunk's first.
  struct Gates {
    float value[lane_tokens];
  };
  __device__ __forceinline__ static bool forms() {
    return per_token && Tiles::warp() == Tiles::threads / 32 - 1;
  }

  __device__ __forceinline__ void load(Gates& gates, const gate_t* first, long long stride,
                                       int rows) const {
#pragma unroll
    for (int n = 0; n < lane_tokens; ++n) {
      const int i = threadIdx.x % 32 + 32 * n;
      gates.value[n] = i < rows ? device::to_float(first[i * stride]) : 0.0f;
    }
  }

  /// Forms the factors of a chunk of `rows` tokens that all have the decay e^g.
  __device__ __forceinline__ void form_powers(int c, float g, int rows) const {
    const float gate = fmaxf(g, device::vanishing_gate);
    for (int i = threadIdx.x; i < chunk; i += Tiles::threads) {
      tiles.factors(c, 2)[i] = device::single_decay(i * gate);
      row(c)[i] = device::single_decay((i + 1) * gate);
      key(c)[i] = i < rows ? device::single_decay((rows - 1 - i) * gate) : 0.0f;
    }
    if (threadIdx.x == 0) decay(c)[0] = device::single_decay(rows * gate);
  }

  /// Forms the factors of a chunk with one warp. Each lane has the gates of its tokens.
  __device__ __forceinline__ void form(int c, const Gates& gates) const {
    const int lane = threadIdx.x % 32, place = lane % 8;
    float prefix[lane_tokens], suffix[lane_tokens];
#pragma unroll
    for (int n = 0; n < lane_tokens; ++n) {
      const float gate = gates.value[n];
      const Half clamped = half_of(device::single_decay(fmaxf(gate, device::strongest_gate)));
      const Half exact = half_of(device::single_decay(gate));
      const float half = shuffle_from(exact.up, lane / 4 * 4 + 3);
      const float other_half = shuffle_from(half, lane ^ 4);
      const int i = lane + 32 * n;
      if (i < chunk) {
        tiles.factors(c, 3)[i] = place < 4 ? device::reciprocal_fast(clamped.behind) : clamped.up;
        tiles.factors(c, 4)[i] = place < 4 ? clamped.behind : device::reciprocal_fast(clamped.up);
      }
      prefix[n] = place < 4 ? exact.up : exact.up * other_half;
      suffix[n] = place < 4 ? exact.behind * other_half : exact.behind;
      if (i < chunk) tiles.factors(c, 2)[i] = suffix[n];
    }
    join_blocks(c, prefix, suffix);
  }

  /// Multiplies scores of 16 rows and 16 columns by their pair factors. Those above the diagonal
  /// become 0.
  __device__ __forceinline__ void decay_scores(int c, int row, int column, float (&left)[4],
                                               float (&right)[4]) const {
    const int i = 16 * row + tiles.lane_row(), j = 16 * column + tiles.lane_column();
    if constexpr (per_head) decay_by_powers(c, i - j, left, right);
    if constexpr (per_token) {
      if (row > column)
        decay_apart(c, i, j, left, right);
      else
        decay_diagonal(c, i, j, left, right);
    }
    if (row > column) return;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      if (j + n % 2 > i + n / 2 * 8) left[n] = 0.0f;
      if (j + 8 + n % 2 > i + n / 2 * 8) right[n] = 0.0f;
    }
  }

 private:
  __device__ __forceinline__ static float shuffle_from(float x, int lane) {
    return __shfl_sync(0xffffffffu, x, lane & 31);
  }

  /// Products of decays inside half a block, which is 4 lanes: up to this lane's token, and behind
  /// it.
  struct Half {
    float up, behind;
  };
  __device__ __forceinline__ static Half half_of(float d) {
    const int lane = threadIdx.x % 32, place = lane % 4;
    Half half{d, shuffle_from(d, lane + 1)};
    if (place == 3) half.behind = 1.0f;
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) {
      const float before = shuffle_from(half.up, lane - distance);
      const float after = shuffle_from(half.behind, lane + distance);
      if (place >= distance) half.up *= before;
      if (place + distance < 4) half.behind *= after;
    }
    return half;
  }

  /// x[0..1] belong to row i, x[2..3] to row i + 8. The columns are two neighbours.
  __device__ __forceinline__ static void scale(float (&x)[4], float upper, float lower,
                                               float2 key) {
    x[0] *= upper * key.x;
    x[1] *= upper * key.y;
    x[2] *= lower * key.x;
    x[3] *= lower * key.y;
  }

  /// `apart` is i - j of the first score. It may be negative, for scores above the diagonal.
  __device__ __forceinline__ void decay_by_powers(int c, int apart, float (&left)[4],
                                                  float (&right)[4]) const {
    const float* powers = tiles.factors(c, 2);
    const auto power = [powers](int n) { return powers[n > 0 ? n : 0]; };
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      left[n] *= power(apart + n / 2 * 8 - n % 2);
      right[n] *= power(apart - 8 + n / 2 * 8 - n % 2);
    }
  }

  /// For scores whose rows all lie in later blocks than their columns.
  __device__ __forceinline__ void decay_apart(int c, int i, int j, float (&left)[4],
                                              float (&right)[4]) const {
    const float *first = tiles.factors(c, 5 + j / 8), *second = first + chunk;
    const float* suffix = tiles.factors(c, 2) + j;
    scale(left, first[i], first[i + 8], device::load_pair(suffix));
    scale(right, second[i], second[i + 8], device::load_pair(suffix + 8));
  }

  /// For two blocks met with themselves, round their middles, and the second's rows with the
  /// first's columns.
  __device__ __forceinline__ void decay_diagonal(int c, int i, int j, float (&left)[4],
                                                 float (&right)[4]) const {
    const float *middle = tiles.factors(c, 3), *inverse = tiles.factors(c, 4) + j;
    const float2 upper = device::load_pair(inverse), lower = device::load_pair(inverse + 8);
    const float2 suffix = device::load_pair(tiles.factors(c, 2) + j);
    const float between = tiles.factors(c, 5 + j / 8)[i + 8];
    left[0] *= middle[i] * upper.x;
    left[1] *= middle[i] * upper.y;
    left[2] *= between * suffix.x;
    left[3] *= between * suffix.y;
    right[2] *= middle[i + 8] * lower.x;
    right[3] *= middle[i + 8] * lower.y;
  }

  /// Continues the products from blocks of 8 tokens to the whole chunk.
  __device__ __forceinline__ void join_blocks(int c, float (&prefix)[lane_tokens],
                                              float (&suffix)[lane_tokens]) const {
    const int lane = threadIdx.x % 32;
    float all = 1.0f, totals[blocks];
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      totals[block] = shuffle_from(prefix[block / 4], block % 4 * 8 + 7);
      all *= totals[block];
    }
#pragma unroll
    for (int n = 0; n < lane_tokens; ++n) {
      const int i = lane + 32 * n;
      if (i >= chunk) break;
      float up = prefix[n], behind = suffix[n];
#pragma unroll
      for (int block = blocks - 1; block >= 0; --block)
        if (block < i / 8) {
          tiles.factors(c, 5 + block)[i] = up;
          up *= totals[block];
        }
#pragma unroll
      for (int block = 0; block < blocks; ++block)
        if (block > i / 8) behind *= totals[block];
      row(c)[i] = up;
      key(c)[i] = behind;
    }
    if (lane == 0) decay(c)[0] = all;
  }
};

}  // namespace gla_bench::linear_recurrence
