#pragma once
// The scores of a backward walk (walk.cuh): a warp recomputes P for its rows and a tile of columns,
// and forms dS = P (.) (dP - D).

#include "device/math.cuh"
#include "device/products.cuh"
#include "softmax_attention/backward/block.cuh"

namespace gla_bench::softmax_attention {

/// How operands of type T are multiplied. float32 operands take `terms` tf32 products.
template <typename T, int terms>
struct BackwardProducts {
  using type = device::Tf32Products<terms>;
};
template <int terms>
struct BackwardProducts<__nv_bfloat16, terms> {
  using type = device::Bfloat16Products;
};
template <int terms>
struct BackwardProducts<__half, terms> {
  using type = device::Float16Products;
};

template <bool by_keys, bool adds_dq>
class BackwardScores : public BackwardBlock<by_keys, adds_dq> {
  using Block = BackwardBlock<by_keys, adds_dq>;

 public:
  using Block::at;
  using Block::Block;

 protected:
  using Block::column_of, Block::column_pairs, Block::column_position, Block::column_sums;
  using Block::columns, Block::gain_, Block::head_, Block::lane, Block::p_, Block::query_pairs;
  using Block::reference, Block::row0_, Block::row_of, Block::row_position, Block::row_sums;
  using Block::rows, Block::rows_, Block::terms, Block::threads, Block::tiles, Block::warp_row;

  /// The products that form S and dP. Rounding their float32 inputs to tf32 would change large
  /// logits, and P - 1 and dP - D, which cancel, by more than tf32's error in dq, dk and dv.
  using ScoreOps = typename BackwardProducts<io_t, 3>::type;
  using Scores = float[tiles][columns / 8][4];

  /// The type in which dS is summed along a row. Where decays vary, rounding errors would add up
  /// over the tokens.
  using RowSum = typename device::Choice<trait::decay == 2, double, float>::type;

  /// What a row adds to its exponents: -lse for a query and, with a decay, the decay to the
  /// reference token. For a query it also holds D, which is subtracted from dP.
  struct RowTerm {
    float lse, sum, dot;
  };

  RowSum row_sum_[tiles][2] = {};
  RowTerm row_[tiles][2] = {};

  /// The decay between the reference token and a token at this position of the rows or columns.
  __device__ __forceinline__ float reference_decay(long long position, const DecaySum* sum,
                                                   bool after) const {
    if constexpr (trait::decay == 2) {
      const DecaySum& other = row_sums()[reference() - row_position()];
      return after ? decay_between(other, *sum) : decay_between(*sum, other);
    } else {
      const long long distance = after ? position - reference() : reference() - position;
      return static_cast<float>(distance) * decay_of_head(p_, head_);
    }
  }

  __device__ __forceinline__ void form_row_terms() {
#pragma unroll
    for (int i = 0; i < tiles; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int r = row_of(i, half);
        RowTerm term = {0.0f, 0.0f, 0.0f};
        if constexpr (!by_keys) {
          const float2 pair =
              r < rows_ ? query_pairs()[row0_ + r] : make_float2(device::minus_infinity(), 0.0f);
          term.lse = pair.x;
          term.dot = pair.y;
        }
        term.sum = term.lse;
        if constexpr (trait::decay != 0)
          term.sum += reference_decay(row_position() + r, row_sums() + r, !by_keys);
        row_[i][half] = term;
      }
  }

  /// Forms, for each column, its term in exponents away from the diagonal, and D.
  __device__ __forceinline__ void form_column_terms(long long n, int stage) {
    const long long left = (by_keys ? p_.seq : p_.key_seq) - n * columns;
    for (int c = threadIdx.x; c < columns; c += threads) {
      float2 term = make_float2(device::minus_infinity(), 0.0f);
      const long long position = column_position(n) + c;
      if (c < left && position >= 0) {
        term.x = reference_decay(position, column_sums(stage) + c, by_keys);
        if (by_keys) {
          const float2 pair = column_pairs(stage)[c];
          term = make_float2(term.x + pair.x, pair.y);
        }
      }
      terms()[c] = term;
    }
  }

  /// Computes s = X Y^T for the warp's rows of X and all columns (the rows of Y). The inner
  /// dimension is `length`.
  template <int length, int ld>
  static __device__ __forceinline__ void score(Scores& s, const io_t* x, const io_t* y) {
#pragma unroll
    for (int i = 0; i < tiles; ++i)
#pragma unroll
      for (int n = 0; n < columns / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) s[i][n][e] = 0.0f;
#pragma unroll(natural ? 1 : 4)
    for (int k = 0; k < length; k += ScoreOps::depth) {
      typename ScoreOps::A a[tiles];
#pragma unroll
      for (int i = 0; i < tiles; ++i)
        a[i] = ScoreOps::load_raw_rows(x + (warp_row() + 16 * i) * ld + k, ld);
#pragma unroll
      for (int n = 0; n < columns / 16; ++n) {
        typename ScoreOps::B b[2];
        ScoreOps::load_raw_rows(b, y + 16 * n * ld + k, ld);
#pragma unroll
        for (int i = 0; i < tiles; ++i) {
          ScoreOps::multiply(s[i][2 * n], a[i], b[0]);
          ScoreOps::multiply(s[i][2 * n + 1], a[i], b[1]);
        }
      }
    }
  }

  /// Turns scores into P. `edge` says that some pairs do not see each other, or lie on the same
  /// side of the reference token.
  template <bool edge>
  __device__ __forceinline__ void weigh(Scores& s, long long n, int stage) const {
    constexpr bool has_row = !by_keys || trait::decay != 0;
    constexpr bool has_column = by_keys || trait::decay != 0;
    const float scale = p_.scale * exponent_unit;
    const float2* pairs = trait::decay != 0 ? terms() : column_pairs(stage);
    const long long before = column_position(n) - row_position();
    const int apart = static_cast<int>(by_keys ? before : -before);
    const long long keys = by_keys ? rows_ : p_.key_seq - n * columns;
    const long long queries = by_keys ? p_.seq - n * columns : rows_;
#pragma unroll
    for (int m = 0; m < columns / 8; ++m) {
      float column[2] = {};
      if constexpr (has_column) {
        column[0] = pairs[column_of(m, 0)].x;
        column[1] = pairs[column_of(m, 1)].x;
      }
#pragma unroll
      for (int i = 0; i < tiles; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const RowTerm& row = row_[i][e / 2];
          float exponent = fmaf(s[i][m][e], scale, has_row ? row.sum : column[e % 2]);
          if constexpr (has_row && has_column) exponent += column[e % 2];
          if constexpr (edge) {
            const int r = row_of(i, e / 2), c = column_of(m, e % 2);
            const int distance = by_keys ? apart + c - r : apart + r - c;
            const bool seen = (!trait::causal || distance >= 0) && (by_keys ? r : c) < keys &&
                              (by_keys ? c : r) < queries;
            if constexpr (trait::decay != 0) {
              const float lse = by_keys ? column_pairs(stage)[c].x : row.lse;
              exponent = fmaf(s[i][m][e], scale, lse) + near_decay(r, c, distance, stage);
            }
            if (!seen) exponent = device::minus_infinity();
          }
          s[i][m][e] = device::exp2_fast(natural ? exponent * device::log2_e : exponent);
        }
    }
  }

  /// The log decay (in exponent_unit) between a row's and a column's token that see each other.
  __device__ __forceinline__ float near_decay(int r, int c, int distance, int stage) const {
    if constexpr (trait::decay == 2) {
      const DecaySum& row = row_sums()[r];
      const DecaySum& column = column_sums(stage)[c];
      return by_keys ? decay_between(row, column) : decay_between(column, row);
    } else {
      return static_cast<float>(distance) * decay_of_head(p_, head_);
    }
  }

  /// Turns d from dP into dS = P (dP - D), and adds its row sums for the gradient of the decay.
  __device__ __forceinline__ void differentiate(const Scores& s, Scores& d, long long n,
                                                int stage) {
    const float2* pairs = trait::decay != 0 ? terms() : column_pairs(stage);
    const long long before = column_position(n) - row_position();
    float sum[tiles][2] = {};
#pragma unroll
    for (int m = 0; m < columns / 8; ++m) {
      float dot[2] = {0.0f, 0.0f};
      if constexpr (by_keys) {
        dot[0] = pairs[column_of(m, 0)].y;
        dot[1] = pairs[column_of(m, 1)].y;
      }
#pragma unroll
      for (int i = 0; i < tiles; ++i)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float lost = by_keys ? dot[e % 2] : row_[i][e / 2].dot;
          const float difference = d[i][m][e] - lost;
          const float x = s[i][m][e] * (scaled ? gain_ * difference : difference);
          d[i][m][e] = x;
          if constexpr (trait::decay == 2) sum[i][e / 2] += x;
          if constexpr (trait::decay == 1 && by_keys) {
            const int apart = static_cast<int>(before) + column_of(0, 0) - row_of(i, e / 2);
            const float distance = static_cast<float>(apart) + static_cast<float>(8 * m + e % 2);
            row_sum_[i][e / 2] = fmaf(distance, x, row_sum_[i][e / 2]);
          }
        }
    }
    if constexpr (trait::decay == 2)
#pragma unroll
      for (int i = 0; i < tiles; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) row_sum_[i][half] += static_cast<RowSum>(sum[i][half]);
  }

  __device__ __forceinline__ bool on_edge(long long n) const {
    if (rows_ < rows) return true;
    if (!by_keys && (n + 1) * columns > p_.key_seq) return true;
    if (!trait::causal) return false;
    if (by_keys) return column_position(n) < row0_ + rows - 1;
    return column_position(n) + columns - 1 > row_position();
  }
};

}  // namespace gla_bench::softmax_attention
