#pragma once
// The products of a chunk walk. Each warp works on its own columns of V and its own share of K.

#include "linear_recurrence/chunk/factors.cuh"
#include "linear_recurrence/chunk/walk_tiles.cuh"

namespace gla_bench::linear_recurrence {

template <typename Tiles>
struct ProductPhase {
  using Ops = typename Tiles::Ops;
  using operand_t = typename Tiles::operand_t;
  using State = typename Tiles::State;
  using Output = typename Tiles::Output;
  static constexpr int chunk = Tiles::chunk, warps_k = Tiles::warps_k, keys = Tiles::keys;
  static constexpr int warp_keys = Tiles::warp_keys, key_ld = Tiles::key_ld;
  static constexpr int value_ld = Tiles::value_ld, score_ld = Tiles::score_ld;
  static constexpr int partial_ld = Tiles::partial_ld;
  static constexpr int tiles_v = Tiles::tiles_v, tiles_k = Tiles::tiles_k, tiles_i = Tiles::tiles_i;
  static constexpr bool per_key = Tiles::per_key, scalar = !per_key && trait::decay != 0;
  static constexpr int score_units = chunk / 16 * (chunk / 16 + 1) / 2;

  const Tiles& tiles;
  const ScalarFactors<Tiles> factors{tiles};

  /// out = S^T (q e^b)^T over this warp's keys.
  __device__ __forceinline__ void multiply_state(int c, const State& state, Output& out) const {
    const auto* q = tiles.q_operand(c) + tiles.warp_first_k();
#pragma unroll
    for (int step = 0; step < warp_keys / Ops::depth; ++step) {
      typename Ops::A a[tiles_v];
#pragma unroll
      for (int m = 0; m < tiles_v; ++m) a[m] = Ops::from_accumulators(state[m], step);
#pragma unroll
      for (int i = 0; i < tiles_i; i += 2) {
        typename Ops::B b[2];
        load_rows(b, q + i * 8 * key_ld + step * Ops::depth);
#pragma unroll
        for (int m = 0; m < tiles_v; ++m) {
          Ops::multiply(out[m][i], a[m], b[0]);
          Ops::multiply(out[m][i + 1], a[m], b[1]);
        }
      }
    }
    if constexpr (scalar) decay_columns(factors.row(c) + tiles.lane_column(), out);
  }

  /// Forms the scores in tiles of 16 x 16, which are dealt to the warps in turn, last rows first.
  __device__ __forceinline__ void form_scores(int c) const {
    constexpr int warps = Tiles::threads / 32;
    for (int unit = tiles.warp(); unit < score_units; unit += warps) {
      int row = chunk / 16 - 1, column = unit;
      while (column > row) column -= row-- + 1;
      float left[4] = {}, right[4] = {};
      if constexpr (!per_key) {
        plain_scores(c, row, column, left, right);
        factors.decay_scores(c, row, column, left, right);
      } else if (row == column) {
        diagonal_scores(c, row, left, right);
      } else {
        sibling_scores(c, row, column, left, right);
      }
      if constexpr (Tiles::normalize) store_row_sums(row, column, left, right);
      operand_t* to = tiles.scores(c) + (16 * row + tiles.lane_row()) * score_ld + 16 * column +
                      tiles.lane_column();
      Ops::store_scores(to, chunk, left[0], left[1]);
      Ops::store_scores(to + 8, chunk, right[0], right[1]);
      Ops::store_scores(to + 8 * score_ld, chunk, left[2], left[3]);
      Ops::store_scores(to + 8 * score_ld + 8, chunk, right[2], right[3]);
    }
  }

  __device__ __forceinline__ void decay_state(int c, State& state) const {
    if constexpr (per_key)
      decay_columns(tiles.chunk_decay() + tiles.warp_first_k() + tiles.lane_column(), state);
    if constexpr (scalar) {
      const float d = factors.decay(c)[0];
#pragma unroll
      for (int m = 0; m < tiles_v; ++m)
#pragma unroll
        for (int n = 0; n < tiles_k; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) state[m][n][i] *= d;
    }
  }

  /// S^T += v^T (k e^(bn-b)).
  __device__ __forceinline__ void add_chunk(int c, State& state) const {
#pragma unroll
    for (int j = 0; j < chunk; j += Ops::depth) {
      typename Ops::A v[tiles_v];
      load_values(c, j, v);
      decay_values(c, j, v);
      add_keys(c, j, v, state);
    }
  }

  /// The same update of S^T, and out += v^T A^T. The steps of the latter product are dealt to the
  /// warps that share K.
  __device__ __forceinline__ void add_chunk(int c, State& state, Output& out) const {
#pragma unroll
    for (int j = 0; j < chunk; j += Ops::depth) {
      typename Ops::A v[tiles_v];
      load_values(c, j, v);
      if (warps_k == 1 || j / 16 % warps_k == tiles.warp() % warps_k) {
#pragma unroll
        for (int i = j / 16 * 2; i < tiles_i; i += 2) {
          typename Ops::Score b[2];
          Ops::load_scores(b, tiles.scores(c) + i * 8 * score_ld + j, score_ld, chunk);
#pragma unroll
          for (int m = 0; m < tiles_v; ++m) {
            Ops::multiply(out[m][i], v[m], b[0]);
            Ops::multiply(out[m][i + 1], v[m], b[1]);
          }
        }
      }
      decay_values(c, j, v);
      add_keys(c, j, v, state);
    }
  }

  __device__ __forceinline__ void store_partial(int c, const Output& out) const {
    float* at = tiles.partial(c) + tiles.warp() % warps_k * chunk * partial_ld;
#pragma unroll
    for (int m = 0; m < tiles_v; ++m)
#pragma unroll
      for (int n = 0; n < tiles_i; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          at[(8 * n + tiles.lane_column() + i % 2) * partial_ld + tiles.warp_first_v() + 16 * m +
             tiles.lane_row() + i / 2 * 8] = out[m][n][i];
  }

 private:
  template <typename T>
  __device__ __forceinline__ static void load_rows(typename Ops::B (&b)[2], const T* p) {
    if constexpr (per_key)
      Ops::load_rows(b, p, key_ld);
    else
      Ops::load_raw_rows(b, p, key_ld);
  }

  /// Multiplies the columns of the accumulators by factors. `first` points to this lane's first
  /// factor.
  template <int tiles_m, int tiles_n>
  __device__ __forceinline__ static void decay_columns(const float* first,
                                                       float (&x)[tiles_m][tiles_n][4]) {
#pragma unroll
    for (int n = 0; n < tiles_n; ++n) {
      const float2 d = device::load_pair(first + 8 * n);
#pragma unroll
      for (int m = 0; m < tiles_m; ++m) {
        x[m][n][0] *= d.x;
        x[m][n][1] *= d.y;
        x[m][n][2] *= d.x;
        x[m][n][3] *= d.y;
      }
    }
  }

  /// Scores q k^T of 16 rows and 16 columns, without decays.
  __device__ __forceinline__ void plain_scores(int c, int row, int column, float (&left)[4],
                                               float (&right)[4]) const {
    const io_t *q = tiles.q_tile(c) + 16 * row * key_ld,
               *k = tiles.k_tile(c) + 16 * column * key_ld;
#pragma unroll 4
    for (int step = 0; step < keys; step += Ops::depth) {
      const auto a = Ops::load_raw_rows(q + step, key_ld);
      typename Ops::B b[2];
      Ops::load_raw_rows(b, k + step, key_ld);
      Ops::multiply(left, a, b[0]);
      Ops::multiply(right, a, b[1]);
    }
  }

  /// Adds up 16 columns of scores for each row and stores the sums.
  __device__ __forceinline__ void store_row_sums(int row, int column, const float (&left)[4],
                                                 const float (&right)[4]) const {
    float upper = left[0] + left[1] + right[0] + right[1];
    float lower = left[2] + left[3] + right[2] + right[3];
#pragma unroll
    for (int distance = 1; distance < 4; distance *= 2) {
      upper += __shfl_xor_sync(0xffffffffu, upper, distance);
      lower += __shfl_xor_sync(0xffffffffu, lower, distance);
    }
    if (threadIdx.x % 4 != 0) return;
    float* to = tiles.row_sums(column) + 16 * row + tiles.lane_row();
    to[0] = upper;
    to[8] = lower;
  }

  /// Scores of 16 rows with 16 earlier columns. They lie in sibling blocks of the level that the
  /// highest differing bit of their indices gives.
  __device__ __forceinline__ void sibling_scores(int c, int row, int column, float (&left)[4],
                                                 float (&right)[4]) const {
    const operand_t* tile = tiles.level_tile(c, (row ^ column) >= 2 ? 2 : 1);
#pragma unroll 4
    for (int k = 0; k < keys; k += Ops::depth) {
      const auto a = Ops::load_rows(tile + 16 * row * key_ld + k, key_ld);
      typename Ops::B b[2];
      Ops::load_rows(b, tile + 16 * column * key_ld + k, key_ld);
      Ops::multiply(left, a, b[0]);
      Ops::multiply(right, a, b[1]);
    }
  }

  /// Scores of a 16 x 16 block on the diagonal. Its two blocks of 8 tokens refer to their middles.
  /// Below the first of them lie the siblings of the lowest level. Rows that do not belong to a
  /// product are zeros in it.
  __device__ __forceinline__ void diagonal_scores(int c, int block, float (&left)[4],
                                                  float (&right)[4]) const {
    const int at = 16 * block * key_ld;
    const operand_t *q = tiles.middle_q() + at, *k = tiles.middle_k() + at,
                    *both = tiles.level_tile(c, 0) + at;
#pragma unroll 4
    for (int step = 0; step < keys; step += Ops::depth) {
      const auto a = Ops::load_rows(q + step, key_ld), next = Ops::load_rows(both + step, key_ld);
      typename Ops::B b[2], b_next[2];
      Ops::load_rows(b, k + step, key_ld);
      Ops::load_rows(b_next, both + step, key_ld);
      Ops::multiply(left, Ops::upper_rows(a), b[0]);
      Ops::multiply(right, Ops::lower_rows(a), b[1]);
      Ops::multiply(left, Ops::lower_rows(next), b_next[0]);
    }
    // Factors above the diagonal may have overflowed, so select instead of multiplying by zero.
    const int row = tiles.lane_row(), column = tiles.lane_column();
    if (column > row) left[0] = right[2] = 0.0f;
    if (column + 1 > row) left[1] = right[3] = 0.0f;
    right[0] = right[1] = 0.0f;
    if constexpr (Tiles::bonus) {
      const float* own = tiles.bonus_scores() + 16 * block + row;
      if (column == row) left[0] = own[0], right[2] = own[8];
      if (column + 1 == row) left[1] = own[0], right[3] = own[8];
    }
  }

  __device__ __forceinline__ void load_values(int c, int j, typename Ops::A (&v)[tiles_v]) const {
#pragma unroll
    for (int m = 0; m < tiles_v; ++m)
      v[m] = Ops::load_columns(tiles.v_tile(c) + j * value_ld + tiles.warp_first_v() + 16 * m,
                               value_ld);
  }

  __device__ __forceinline__ void decay_values(int c, int j, typename Ops::A (&v)[tiles_v]) const {
    if constexpr (scalar) {
#pragma unroll
      for (int m = 0; m < tiles_v; ++m) v[m] = Ops::scaled(v[m], factors.key(c) + j);
    }
  }

  __device__ __forceinline__ void add_keys(int c, int j, const typename Ops::A (&v)[tiles_v],
                                           State& state) const {
    const auto* k = tiles.k_operand(c) + j * key_ld + tiles.warp_first_k();
#pragma unroll
    for (int n = 0; n < tiles_k; n += 2) {
      typename Ops::B b[2];
      if constexpr (per_key)
        Ops::load_columns(b, k + 8 * n, key_ld);
      else
        Ops::load_raw_columns(b, k + 8 * n, key_ld);
#pragma unroll
      for (int m = 0; m < tiles_v; ++m) {
        Ops::multiply(state[m][n], v[m], b[0]);
        Ops::multiply(state[m][n + 1], v[m], b[1]);
      }
    }
  }
};

}  // namespace gla_bench::linear_recurrence
