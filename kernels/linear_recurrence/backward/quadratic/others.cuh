#pragma once
// A chunk against the other chunks of its sequence, chunk by chunk. Two products of a pair of
// chunks are formed anew each time: scores, and the gradients of scores. They go through shared
// memory as operands, those of 16 bits with what rounding lost beside them.
//
// Where a chunk is met from far to near, a sum decays by each chunk that it crosses (KeyWalk).
// Where it is met from near to far, the chunk's own keys do (OtherColumns). Decays are only
// multiplied.
//
// A warp owns 16 tokens of the chunk and its group's share of what they meet.

#include "linear_recurrence/backward/quadratic/workspace.cuh"

namespace gla_bench::linear_recurrence::backward::chunked {

/// Blocks of 16 tokens of the other chunk that a warp owns.
constexpr int other_blocks = (blocks + groups - 1) / groups;

/// A pair of chunks' scores, or their gradients: rows are this chunk's tokens.
struct PairScores {
  float sum[other_blocks][2][4] = {};

  /// sum += rows [chunk, ld] times other rows [chunk, ld], transposed.
  template <class Products, class Load>
  __device__ __forceinline__ void add(int length, int ld, Load load) {
#pragma unroll 2
    for (int step = 0; step < length; step += Products::depth) {
      const auto a = load.rows(16 * block_of_warp() * ld + step);
#pragma unroll
      for (int n = 0; n < other_blocks; ++n) {
        const int block = n * groups + group_of_warp();
        if (block >= blocks) continue;
        typename Products::B b[2];
        load.others(b, 16 * block * ld + step);
        Products::multiply(sum[n][0], a, b[0]);
        Products::multiply(sum[n][1], a, b[1]);
      }
    }
  }

  /// Stores them as operands [chunk, score_ld].
  __device__ __forceinline__ void store(operand_t* to, float factor) const {
#pragma unroll
    for (int n = 0; n < other_blocks; ++n) {
      const int block = n * groups + group_of_warp();
      if (block >= blocks) continue;
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int row = 16 * block_of_warp() + tile_row() + x % 2 * 8;
        const int column = 16 * block + x / 2 * 8 + tile_column();
        const float(&pair)[4] = sum[n][x / 2];
        Ops::store_scores(to + row * layout.score_ld + column, chunk, factor * pair[x % 2 * 2],
                          factor * pair[x % 2 * 2 + 1]);
      }
    }
  }
};

/// Operands that went through Ops::rounded(), and rows as they were loaded.
struct RoundedRows {
  const operand_t *own, *other;
  int ld;
  __device__ __forceinline__ Ops::A rows(int at) const { return Ops::load_rows(own + at, ld); }
  __device__ __forceinline__ void others(Ops::B (&b)[2], int at) const {
    Ops::load_rows(b, other + at, ld);
  }
};
struct ExactRows {
  const operand_t *own, *other;
  int ld;
  __device__ __forceinline__ ChangeOps::A rows(int at) const {
    return ChangeOps::load_raw_rows(own + at, ld);
  }
  __device__ __forceinline__ void others(ChangeOps::B (&b)[2], int at) const {
    ChangeOps::load_raw_rows(b, other + at, ld);
  }
};

/// sum += the stored scores of this warp's tokens times the other chunk's columns [chunk, ld].
template <int tiles>
__device__ __forceinline__ void multiply_pair(float (&sum)[tiles][4], const operand_t* scores,
                                              const operand_t* columns, int ld) {
  scores += 16 * block_of_warp() * layout.score_ld;
  for (int t = 0; t < chunk; t += Ops::depth) {
    Ops::A a[2];
    load_score_operands(scores + t, a,
                        [](const operand_t* p) { return Ops::load_rows(p, layout.score_ld); });
#pragma unroll
    for (int n = 0; n < tiles; n += 2) {
      Ops::B b[2];
      Ops::load_paired_columns(b, columns + t * ld + 8 * n, ld);
      multiply_scores(sum[n], a, b[0]);
      multiply_scores(sum[n + 1], a, b[1]);
    }
  }
}

/// What the chunk's queries read of all earlier chunks or, for writers, what its keys get from all
/// later ones: without the own tokens' decays in the chunk, and without the scale.
template <bool readers>
struct KeyWalk {
  const Chunk& at;
  const Pieces& pieces;
  long long number;
  float sum[4][4] = {};  ///< 16 tokens and 32 keys of the warp

  __device__ __forceinline__ KeyWalk(const Chunk& chunk_at, const Pieces& all, long long own)
      : at(chunk_at), pieces(all), number(own) {}

  /// Meets them from far to near. before(number of the other chunk) is called with the sum over all
  /// that lie behind it, decayed up to it; it may use barriers. Begins with a barrier, ends without
  /// one.
  template <class Before>
  __device__ __forceinline__ void run(Before before) {
    if constexpr (readers) {
      for (long long n = 0; n < number; ++n) meet(n, before);
    } else {
      for (long long n = pieces.count - 1; n > number; --n) meet(n, before);
    }
  }

 private:
  template <class Before>
  __device__ __forceinline__ void meet(long long n, Before before) {
    before(n);
    const Chunk other = chunk_of(at.of, at.slice, n, at.shared);
    operand_t *own_columns = at.operands(layout.v),
              *other_columns = at.operands(layout.other_columns);
    PairScores changes;
    for (int first = 0; first < width; first += panel) {
      __syncthreads();
      load_panel<readers>(at, first, own_columns);
      load_panel<!readers>(other, first, other_columns);
      __syncthreads();
      changes.add<ChangeOps>(panel, panel_ld, ExactRows{own_columns, other_columns, panel_ld});
    }
    changes.store(at.operands(layout.other_scores), 1.0f);
    load_operands(pieces.operands(n, !readers), at.operands(layout.other_keys));
    decay(n);
    __syncthreads();
    multiply_pair(sum, at.operands(layout.other_scores),
                  at.operands(layout.other_keys) + 32 * group_of_warp(), key_ld);
  }

  __device__ __forceinline__ void decay(long long n) {
    if constexpr (decays_exist) {
#pragma unroll
      for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int x = 0; x < 2; ++x) {
          const int key = 32 * group_of_warp() + 8 * m + tile_column() + x;
          const float total = pieces.total(n, key);
          sum[m][x] *= total;
          sum[m][x + 2] *= total;
        }
    }
  }
};

/// What the chunk's rows of dv get from all later chunks or, for outputs, its rows of outputs from
/// all earlier ones.
template <bool outputs>
struct OtherColumns {
  const Chunk& at;
  const Pieces& pieces;
  long long number;

  /// Adds columns [first, first + panel) of this warp's tokens, of which it owns its group's share.
  /// Meets the others from near to far, and stops where no key is left of its own. Begins with a
  /// barrier.
  template <int tiles>
  __device__ __forceinline__ void add_columns(int first, float (&sum)[tiles][4]) const {
    Column own;
    own.load(at);
    const SplitScale scale(at.of.g.inputs.scale);
    float x[16], between = at.key_of(own_key()) < keys ? 1.0f : 0.0f;
    if constexpr (outputs) {
      own.prefixed(at, scale.of_queries, x);
    } else {
      own.suffixed(at, x);
#pragma unroll
      for (int t = 0; t < 16; ++t) x[t] *= scale.of_queries;
    }
    const auto reached = [&](long long n) { return outputs ? n >= 0 : n < pieces.count; };
    constexpr int step = outputs ? -1 : 1;
    for (long long n = number + step; reached(n); n += step) {
      if (!__syncthreads_or(between != 0.0f)) break;  // also: the tiles are free
#pragma unroll
      for (int t = 0; t < 16; ++t) own.q[t] = x[t] * between;
      Column::store_keys(at.operands(layout.own_keys), own.q);
      load_operands(pieces.operands(n, !outputs), at.operands(layout.other_keys));
      load_panel<!outputs>(chunk_of(at.of, at.slice, n, at.shared), first,
                           at.operands(layout.other_columns));
      between *= pieces.total(n, own_key());
      __syncthreads();
      PairScores scores;
      scores.add<Ops>(
          block_k, key_ld,
          RoundedRows{at.operands(layout.own_keys), at.operands(layout.other_keys), key_ld});
      scores.store(at.operands(layout.other_scores), scale.of_sums);
      __syncthreads();
      multiply_pair(sum, at.operands(layout.other_scores),
                    at.operands(layout.other_columns) + panel / groups * group_of_warp(), panel_ld);
    }
  }
};

}  // namespace gla_bench::linear_recurrence::backward::chunked
