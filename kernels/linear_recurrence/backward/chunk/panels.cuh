#pragma once
// The products of a chunk's gradients over the columns of v, in panels. Each panel of v, do, the
// state before the chunk and the gradient of the state behind it is loaded once and gives its share
// of
//   changes  do v^T, the gradients of the scores [chunk, chunk],
//   read     do S^T, what queries read of the state [chunk, block_k],
//   written  v D^T, what keys get from the gradient of the state [chunk, block_k],
//   through  rowsum S (.) D [block_k],
// in accumulators, and its columns of dv = A^T do + (k decayed) D whole. Scores are there before.
//
// A warp owns 16 rows, and of these its group's share of the columns.

#include "linear_recurrence/backward/chunk/scores.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

/// Of a chunk whose outside is all in the state before it and the gradient behind it.
struct NoOthers {
  template <class Panels>
  __device__ __forceinline__ void seed(Panels&) const {}
  template <int tiles>
  __device__ __forceinline__ void add_columns(int, float (&)[tiles][4]) const {}
};

/// Loads columns [first, first + panel) of rows(key of the slice, column) [K, width], a state or
/// what has its shape, to [block_k, panel_ld]. What does not exist is 0.
template <class Rows>
__device__ __forceinline__ void load_state(const Chunk& at, int first, Rows rows, operand_t* to) {
  for (int row = warp(); row < block_k; row += warps)
#pragma unroll
    for (int c = 0; c < panel; c += 32) {
      const int column = first + c + lane();
      to[row * panel_ld + c + lane()] =
          Ops::rounded(at.key_of(row) < keys && column < width ? rows(row, column) : 0.0f);
    }
}

/// `before` and `behind(key of the slice, column)`: the state before the chunk and the gradient of
/// the state behind it. `others` adds what the chunk has from outside of both.
template <class Before, class Behind, class Others>
struct Panels {
  /// Blocks of 16 columns of the scores' gradients that a warp owns.
  static constexpr int own_blocks = (blocks + groups - 1) / groups;
  static constexpr int own_rows = (block_k + warps - 1) / warps;
  static constexpr int value_tiles = panel / groups / 8;

  const Chunk& at;
  Before before;
  Behind behind;
  const Others& others;
  float changes[own_blocks][2][4] = {}, read[4][4] = {}, written[4][4] = {};
  float through[own_rows] = {};  ///< of row warp() + n * warps, over this lane's columns

  __device__ Panels(const Chunk& chunk_at, Before state, Behind change, const Others& outside)
      : at(chunk_at), before(state), behind(change), others(outside) {
    others.seed(*this);
  }

  /// Takes all panels. after_panel(first column) is called for each, when its operands and dv are
  /// done with; every thread then meets a barrier.
  template <class After>
  __device__ __forceinline__ void run(After after_panel) {
    for (int first = 0; first < width; first += panel) {
      load(first);
      __syncthreads();
      multiply();
      store_values(first);
      after_panel(first);
      __syncthreads();
    }
  }

  /// Puts the sums where the gradients' phase takes them. Begins behind a barrier.
  __device__ __forceinline__ void store() const {
    const float scale = at.of.g.inputs.scale;
    const int row = 16 * block_of_warp() + tile_row();
    float *direct = at.floats(layout.score_changes), *transposed = at.floats(layout.transposed);
#pragma unroll
    for (int n = 0; n < own_blocks; ++n)
#pragma unroll
      for (int x = 0; x < 8; ++x) {
        const int block = n * groups + group_of_warp();
        if (block > block_of_warp()) continue;
        const int i = row + x % 4 / 2 * 8, j = 16 * block + x / 4 * 8 + tile_column() + x % 2;
        const float change = scale * changes[n][x / 4][x % 4];
        direct[i * layout.square_ld + j] = change;
        transposed[j * layout.square_ld + i] = change;
      }
    const int column = 32 * group_of_warp() + tile_column();
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int to = (row + x / 2 * 8) * block_k + column + 8 * n + x % 2;
        at.floats(layout.read)[to] = scale * read[n][x];
        at.floats(layout.written)[to] = written[n][x];
      }
#pragma unroll
    for (int n = 0; n < own_rows; ++n) {
      float sum = through[n];
#pragma unroll
      for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
      const int key = warp() + n * warps;
      if (lane() == 0 && key < block_k) at.floats(layout.through)[key] = sum;
    }
  }

 private:
  __device__ __forceinline__ void load(int first) {
    load_panel<false>(at, first, at.operands(layout.v));
    load_panel<true>(at, first, at.operands(layout.d_o));
    operand_t *states = at.operands(layout.state), *gradients = at.operands(layout.changes);
#pragma unroll
    for (int n = 0; n < own_rows; ++n) {
      const int row = warp() + n * warps, key = at.key_of(row);
      if (row >= block_k) break;
#pragma unroll
      for (int c = 0; c < panel; c += 32) {
        const int column = first + c + lane();
        float state = 0.0f, change = 0.0f;
        if (key < keys && column < width) {
          state = before(row, column);
          change = behind(row, column);
        }
        through[n] = fmaf(state, change, through[n]);
        states[row * panel_ld + c + lane()] = Ops::rounded(state);
        gradients[row * panel_ld + c + lane()] = Ops::rounded(change);
      }
    }
  }

  __device__ __forceinline__ void multiply() {
    const int row = 16 * block_of_warp(), first_key = 32 * group_of_warp();
    const operand_t *v = at.operands(layout.v), *d_o = at.operands(layout.d_o);
    const operand_t* states = at.operands(layout.state) + first_key * panel_ld;
    const operand_t* gradients = at.operands(layout.changes) + first_key * panel_ld;
#pragma unroll 2
    for (int c = 0; c < panel; c += Ops::depth) {
      const Ops::A reader = Ops::load_raw_rows(d_o + row * panel_ld + c, panel_ld);
      const Ops::A writer = Ops::load_raw_rows(v + row * panel_ld + c, panel_ld);
      const ChangeOps::A exact = ChangeOps::load_raw_rows(d_o + row * panel_ld + c, panel_ld);
#pragma unroll
      for (int n = 0; n < own_blocks; ++n) {
        const int block = n * groups + group_of_warp();
        if (block > block_of_warp()) continue;
        ChangeOps::B exact_b[2];
        ChangeOps::load_raw_rows(exact_b, v + 16 * block * panel_ld + c, panel_ld);
        ChangeOps::multiply(changes[n][0], exact, exact_b[0]);
        ChangeOps::multiply(changes[n][1], exact, exact_b[1]);
      }
      Ops::B b[2];
#pragma unroll
      for (int n = 0; n < 4; n += 2) {
        Ops::load_rows(b, states + 8 * n * panel_ld + c, panel_ld);
        Ops::multiply(read[n], reader, b[0]);
        Ops::multiply(read[n + 1], reader, b[1]);
        Ops::load_rows(b, gradients + 8 * n * panel_ld + c, panel_ld);
        Ops::multiply(written[n], writer, b[0]);
        Ops::multiply(written[n + 1], writer, b[1]);
      }
    }
  }

  /// The panel's columns of dv for this warp's tokens.
  __device__ __forceinline__ void store_values(int first) const {
    const int row = 16 * block_of_warp(), column = panel / groups * group_of_warp();
    float sum[value_tiles][4] = {};
    others.add_columns(first, sum);
    const operand_t* scores = at.operands(layout.scores) + row * layout.score_ld;
    for (int i = row; i < chunk; i += Ops::depth) {
      Ops::A a[2];
      load_score_operands(scores + i, a,
                          [](const operand_t* p) { return Ops::load_rows(p, layout.score_ld); });
      multiply_columns(sum, at.operands(layout.d_o) + i * panel_ld + column,
                       [&](float(&to)[4], const Ops::B& b) { multiply_scores(to, a, b); });
    }
    const operand_t* suffixed = at.operands(layout.suffixed) + row * key_ld;
#pragma unroll 2
    for (int key = 0; key < block_k; key += Ops::depth) {
      const Ops::A a = Ops::load_rows(suffixed + key, key_ld);
      multiply_columns(sum, at.operands(layout.changes) + key * panel_ld + column,
                       [&](float(&to)[4], const Ops::B& b) { Ops::multiply(to, a, b); });
    }
#pragma unroll
    for (int n = 0; n < value_tiles; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int t = row + tile_row() + x / 2 * 8;
        const int c = first + column + 8 * n + tile_column() + x % 2;
        if (t >= at.tokens || c >= width) continue;
        if constexpr (slices > 1)
          *value_part(at.of, at.slice, at.first + t, c) = sum[n][x];
        else if (c < values)
          at.of.store_value(at.first + t, c, sum[n][x]);
      }
  }

  template <class Multiply>
  __device__ __forceinline__ static void multiply_columns(float (&sum)[value_tiles][4],
                                                          const operand_t* from,
                                                          Multiply multiply_one) {
#pragma unroll
    for (int n = 0; n < value_tiles; n += 2) {
      Ops::B b[2];
      Ops::load_paired_columns(b, from + 8 * n, panel_ld);
      multiply_one(sum[n], b[0]);
      multiply_one(sum[n + 1], b[1]);
    }
  }
};

/// Each slice's part of the chunk's outputs, without the scale, for the gradients of a normalizer.
/// Scores have the scale in them, and so do prefixed queries: the parts are divided by it.
template <class Before, class Others>
struct Outputs {
  static constexpr int tiles = panel / groups / 8;

  const Chunk& at;
  Before before;
  const Others& others;

  __device__ __forceinline__ void run() const {
    for (int first = 0; first < width; first += panel) {
      load(first);
      __syncthreads();
      store(first);
      __syncthreads();
    }
  }

 private:
  __device__ __forceinline__ void load(int first) const {
    load_panel<false>(at, first, at.operands(layout.v));
    load_state(at, first, before, at.operands(layout.state));
  }

  __device__ __forceinline__ void store(int first) const {
    const int row = 16 * block_of_warp(), column = panel / groups * group_of_warp();
    float sum[tiles][4] = {};
#pragma unroll 2
    for (int key = 0; key < block_k; key += Ops::depth) {
      const Ops::A a = Ops::load_rows(at.operands(layout.prefixed) + row * key_ld + key, key_ld);
#pragma unroll
      for (int n = 0; n < tiles; n += 2) {
        Ops::B b[2];
        Ops::load_paired_columns(b, at.operands(layout.state) + key * panel_ld + column + 8 * n,
                                 panel_ld);
        Ops::multiply(sum[n], a, b[0]);
        Ops::multiply(sum[n + 1], a, b[1]);
      }
    }
    const SplitScale scale(at.of.g.inputs.scale);
#pragma unroll
    for (int n = 0; n < tiles; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) sum[n][x] *= scale.of_sums;
    others.add_columns(first, sum);
    for (int j = 0; j < row + 16; j += Ops::depth) {
      Ops::A a[2];
      load_score_operands(at.operands(layout.scores) + j * layout.score_ld + row, a,
                          [](const operand_t* p) { return Ops::load_columns(p, layout.score_ld); });
#pragma unroll
      for (int n = 0; n < tiles; n += 2) {
        Ops::B b[2];
        Ops::load_raw_columns(b, at.operands(layout.v) + j * panel_ld + column + 8 * n, panel_ld);
        multiply_scores(sum[n], a, b[0]);
        multiply_scores(sum[n + 1], a, b[1]);
      }
    }
#pragma unroll
    for (int n = 0; n < tiles; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int t = row + tile_row() + x / 2 * 8;
        const int c = first + column + 8 * n + tile_column() + x % 2;
        if (t < at.tokens && c < width)
          *value_part(at.of, at.slice, at.first + t, c) = sum[n][x] / at.of.g.inputs.scale;
      }
  }
};

}  // namespace gla_bench::linear_recurrence::backward::chunked
