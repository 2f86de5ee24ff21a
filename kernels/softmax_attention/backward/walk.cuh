#pragma once
// The walk of the backward pass by blocks. A block owns rows of scores and walks over the columns
// that they meet. For each tile of rows and columns it recomputes P from lse and forms dS = P (.)
// (dP - D).
//
// In a walk by keys, rows are keys, so the scores are transposed. P^T and dS^T go straight from
// registers into the products dv += P^T do and dk += dS^T q, which are summed over the query heads
// of the group. With adds_dq, dS^T also goes to shared memory, and the warps add their parts of dS
// k to float32 sums in device memory. In a walk by queries, rows are queries and dq += dS k stays
// in registers.
//
// Decay: the exponent of P contains c_i - c_j. Both c are sums of log decays relative to one token
// of the block, so the difference is a term of the row plus a term of the column. Away from the
// diagonal both terms are <= 0. On the diagonal the difference is formed in float64. Tokens on two
// sides of a reset (log decay -inf) do not see each other.
//
// Shared memory: see layout.h. A warp owns whole rows, so sums over columns need no other warp.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "device/products.cuh"
#include "softmax_attention/backward/layout.h"
#include "softmax_attention/backward/sums.cuh"
#include "softmax_attention/params.h"

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

/// Adds factor times four neighbouring values to sums in device memory, which are 16-byte aligned.
__device__ __forceinline__ void add_to_sums(float* sums, const float (&x)[4], float factor) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(sums), "f"(factor * x[0]),
               "f"(factor * x[1]), "f"(factor * x[2]), "f"(factor * x[3])
               : "memory");
#else
  for (int i = 0; i < 4; ++i) atomicAdd(sums + i, factor * x[i]);
#endif
}

template <bool by_keys, bool adds_dq>
class BackwardWalk {
 public:
  static constexpr BackwardLayout at{{dim::key_dim, dim::value_dim, static_cast<int>(sizeof(io_t)),
                                      tile::block_n, tile::block_m, tile::warps, tile::stages,
                                      trait::decay, tile::sums, by_keys, adds_dq}};

  __device__ __forceinline__ BackwardWalk(const AttentionParams& params, unsigned char* shared)
      : p_(params), shared_(shared), offset_(params.key_seq - params.seq) {
    const long long length = by_keys ? p_.key_seq : p_.seq;
    const int blocks = static_cast<int>((length + at.shape.rows - 1) / at.shape.rows);
    long long index = blockIdx.x;
    slice_ = static_cast<int>(index % at.slices);
    index /= at.slices;
    // The blocks with the most work start first: the first keys, or the last queries.
    const long long block = by_keys ? index % blocks : blocks - 1 - index % blocks;
    index /= blocks;
    const long long heads = by_keys ? p_.key_heads : p_.heads;
    batch_ = index / heads;
    head_ = by_keys ? index % heads * trait::group : index % heads;
    row0_ = block * at.shape.rows;
    rows_ = static_cast<int>(length - row0_ < at.shape.rows ? length - row0_ : at.shape.rows);
    if constexpr (scaled) {
      gain_ = gradient_gain(p_, batch_ * p_.key_heads + head_ / trait::group);
      loss_ = 1.0f / (score_gain * gain_);
    }
  }

  __device__ __forceinline__ void run() {
    load_rows();
    device::commit_copies();
    const int first_head = static_cast<int>(head_);
#pragma unroll 1
    for (int n = 0; n < (by_keys ? trait::group : 1); ++n) {
      head_ = first_head + n;
      walk();
      finish_head();
    }
    device::wait_copies<0>();
    store_results();
  }

 private:
  using Ops = typename BackwardProducts<io_t, tile::terms>::type;
  /// The products that form S and dP. Rounding their float32 inputs to tf32 would change large
  /// logits, and P - 1 and dP - D, which cancel, by more than tf32's error in dq, dk and dv.
  using ScoreOps = typename BackwardProducts<io_t, 3>::type;
  static constexpr int tiles = at.tiles, columns = at.shape.columns, rows = at.shape.rows;
  static constexpr int threads = at.threads;
  using Scores = float[tiles][columns / 8][4];

  /// The type in which dS is summed along a row. Where decays vary, rounding errors would add up
  /// over the tokens.
  using RowSum = typename device::Choice<trait::decay == 2, double, float>::type;

  /// What a row adds to its exponents: -lse for a query and, with a decay, the decay to the
  /// reference token. For a query it also holds D, which is subtracted from dP.
  struct RowTerm {
    float lse, sum, dot;
  };

  const AttentionParams& p_;
  unsigned char* shared_;
  long long batch_ = 0, head_ = 0;  ///< head_ counts query heads
  long long row0_ = 0;
  long long offset_;  ///< from a query's index to its position among the keys
  int rows_ = 0, slice_ = 0;
  float keys_sum_[tiles][at.key_columns / 8][4] = {};
  float values_sum_[tiles][by_keys ? at.value_columns / 8 : 1][4] = {};
  RowSum row_sum_[tiles][2] = {};
  RowTerm row_[tiles][2] = {};
  float gain_ = 1.0f, loss_ = 1.0f;  ///< the gain of dS where operands are float16, and its inverse

  __device__ __forceinline__ io_t* tile_at(int offset) const {
    return reinterpret_cast<io_t*>(shared_ + offset);
  }
  __device__ __forceinline__ io_t* column_keys(int stage) const {
    return tile_at(stage * at.stage);
  }
  __device__ __forceinline__ io_t* column_values(int stage) const {
    return tile_at(stage * at.stage + at.column_keys);
  }
  __device__ __forceinline__ float2* column_pairs(int stage) const {
    return reinterpret_cast<float2*>(shared_ + stage * at.stage + at.column_values);
  }
  __device__ __forceinline__ DecaySum* column_sums(int stage) const {
    return reinterpret_cast<DecaySum*>(shared_ + stage * at.stage + at.column_sums);
  }
  __device__ __forceinline__ DecaySum* row_sums() const {
    return reinterpret_cast<DecaySum*>(shared_ + at.row_sums);
  }
  __device__ __forceinline__ float2* terms() const {
    return reinterpret_cast<float2*>(shared_ + at.terms);
  }

  static __device__ __forceinline__ int lane() {
    return threadIdx.x % 32;
  }
  static __device__ __forceinline__ int warp_row() {
    return threadIdx.x / 32 * 16 * tiles;
  }
  /// The block's row that the thread holds as half `half` (0, 1) of its tile i; column_of does the
  /// same for element e (0, 1) of the 8-column group n.
  static __device__ __forceinline__ int row_of(int i, int half) {
    return warp_row() + 16 * i + 8 * half + lane() / 4;
  }
  static __device__ __forceinline__ int column_of(int n, int e) {
    return 8 * n + lane() % 4 * 2 + e;
  }

  /// The position among the keys of the block's first row, and of column tile n's first column.
  __device__ __forceinline__ long long row_position() const {
    return by_keys ? row0_ : row0_ + offset_;
  }
  __device__ __forceinline__ long long column_position(long long n) const {
    return n * columns + (by_keys ? offset_ : 0);
  }
  /// The token that the decays of the block's rows are relative to. Away from the diagonal, every
  /// row and every column lies on its proper side of this token.
  __device__ __forceinline__ long long reference() const {
    if (by_keys) return row0_ + rows_ - 1;
    return row_position() < 0 ? 0 : row_position();
  }

  /// Copies rows from `first` on into shared memory, from a tensor with K and a tensor with V
  /// columns.
  template <int count>
  __device__ __forceinline__ void copy(io_t* to_keys, io_t* to_values, bool queries, long long head,
                                       long long first, long long valid) {
    const TokenStrides& ks = queries ? p_.query_strides : p_.key_strides;
    const TokenStrides& vs = queries ? p_.output_strides : p_.value_strides;
    const auto* keys = static_cast<const io_t*>(queries ? p_.q : p_.k);
    const auto* values = static_cast<const io_t*>(queries ? p_.d_o : p_.v);
    const int left = static_cast<int>(valid < count ? valid : count);
    device::copy_rows_async<threads, count, at.key_ld - 8, at.key_ld, key_alignment>(
        to_keys, keys + batch_ * ks.batch + head * ks.heads + first * ks.seq, ks.seq, left,
        dim::key_dim);
    device::copy_rows_async<threads, count, at.value_ld - 8, at.value_ld, value_alignment>(
        to_values, values + batch_ * vs.batch + head * vs.heads + first * vs.seq, vs.seq, left,
        dim::value_dim);
  }

  __device__ __forceinline__ void load_rows() {
    copy<rows>(tile_at(at.row_keys), tile_at(at.row_values), !by_keys,
               by_keys ? head_ / trait::group : head_, row0_, rows_);
  }

  /// Copies this head's sums of decays, for positions from `first` on.
  template <int count>
  __device__ __forceinline__ void copy_sums(DecaySum* to, long long first) {
    const auto* sums = static_cast<const DecaySum*>(p_.work[work::decays]) +
                       (batch_ * p_.heads + head_) * p_.key_seq;
    for (int n = threadIdx.x; n < count; n += threads) {
      const bool valid = first + n >= 0 && first + n < p_.key_seq;
      device::copy_async<16>(to + n, valid ? sums + first + n : sums, valid);
    }
  }

  /// Loads column tile n: its rows of both tensors, the pairs (-lse, D) of queries and the sums of
  /// decays.
  __device__ __forceinline__ void load_columns(long long n, int stage) {
    const long long first = n * columns;
    const long long left = (by_keys ? p_.seq : p_.key_seq) - first;
    copy<columns>(column_keys(stage), column_values(stage), by_keys,
                  by_keys ? head_ : head_ / trait::group, first, left);
    if constexpr (by_keys) {
      const float2* pairs = query_pairs() + first;
      for (int c = threadIdx.x; c < columns; c += threads)
        device::copy_async<8>(column_pairs(stage) + c, c < left ? pairs + c : query_pairs(),
                              c < left);
    }
    if constexpr (trait::decay == 2) copy_sums<columns>(column_sums(stage), column_position(n));
    device::commit_copies();
  }

  __device__ __forceinline__ const float2* query_pairs() const {
    return static_cast<const float2*>(p_.work[work::pairs]) + (batch_ * p_.heads + head_) * p_.seq;
  }

  /// Visits the column tiles that the rows meet, for the current head.
  __device__ __forceinline__ void walk() {
    long long first = 0, last = ((by_keys ? p_.seq : p_.key_seq) + columns - 1) / columns;
    if constexpr (trait::causal) {
      const long long nearest = row0_ - offset_;  // the first query that sees the first key
      if (by_keys && nearest > 0) first = nearest / columns;
      if (!by_keys) {
        const long long furthest = row_position() + rows_;  // keys before it are seen
        last = furthest <= 0 ? 0 : (furthest + columns - 1) / columns;
      }
    }
    if (first >= last) return;
    __syncthreads();  // the previous head's tiles have been read
    if constexpr (trait::decay == 2) copy_sums<rows>(row_sums(), row_position());
    load_columns(first, 0);
#pragma unroll 1
    for (long long n = first; n < last; ++n) {
      const int stage = at.shape.stages == 1 ? 0 : static_cast<int>((n - first) % 2);
      if (at.shape.stages == 1 && n > first) {
        __syncthreads();
        load_columns(n, 0);
      }
      device::wait_copies<0>();
      __syncthreads();
      if (at.shape.stages == 2 && n + 1 < last) load_columns(n + 1, 1 - stage);
      if (n == first) form_row_terms();
      if constexpr (trait::decay != 0) {
        form_column_terms(n, stage);
        __syncthreads();
      }
      step(n, stage);
    }
  }

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

  /// Computes sum += s Y over all columns. Y has `width` columns.
  template <int ld, int width>
  static __device__ __forceinline__ void add(float (&sum)[tiles][width / 8][4], const Scores& s,
                                             const io_t* y) {
#pragma unroll
    for (int c = 0; c < columns / Ops::depth; ++c) {
      typename Ops::A a[tiles];
#pragma unroll
      for (int i = 0; i < tiles; ++i) a[i] = Ops::from_accumulators(s[i], c);
#pragma unroll
      for (int n = 0; n < width / 16; ++n) {
        typename Ops::B b[2];
        Ops::load_paired_columns(b, y + c * Ops::depth * ld + 16 * n, ld);
#pragma unroll
        for (int i = 0; i < tiles; ++i) {
          Ops::multiply(sum[i][2 * n], a[i], b[0]);
          Ops::multiply(sum[i][2 * n + 1], a[i], b[1]);
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

  __device__ __forceinline__ void step(long long n, int stage) {
    Scores s, d;
    score<at.key_ld - 8, at.key_ld>(s, tile_at(at.row_keys), column_keys(stage));
    if (on_edge(n))
      weigh<true>(s, n, stage);
    else
      weigh<false>(s, n, stage);
    if constexpr (by_keys)
      add<at.value_ld, at.value_columns>(values_sum_, s,
                                         column_values(stage) + slice_ * at.value_columns);
    score<at.value_ld - 8, at.value_ld>(d, tile_at(at.row_values), column_values(stage));
    differentiate(s, d, n, stage);
    if constexpr (adds_dq) put_gradient(d);
    add<at.key_ld, at.key_columns>(keys_sum_, d, column_keys(stage) + slice_ * at.key_columns);
    if constexpr (adds_dq) {
      if (trait::decay == 2 && slice_ == 0) add_query_sums(d, n);
      __syncthreads();
      add_dq(n);
    }
  }

  __device__ __forceinline__ void put_gradient(const Scores& d) {
    io_t* out = tile_at(at.gradient);
#pragma unroll
    for (int i = 0; i < tiles; ++i)
#pragma unroll
      for (int m = 0; m < columns / 8; ++m)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          device::store_pair(out + row_of(i, half) * at.gradient_ld + column_of(m, 0),
                             d[i][m][2 * half], d[i][m][2 * half + 1]);
  }

  /// Adds dS k of all rows (keys) to the sums of the columns (queries).
  __device__ __forceinline__ void add_dq(long long n) {
    const int warp = threadIdx.x / 32;
    const int group0 = warp / at.dq_warp_rows * at.dq_groups;
    const int query0 = warp % at.dq_warp_rows * at.dq_tiles * 16;
    const io_t* gradient = tile_at(at.gradient) + query0;
    const io_t* keys = tile_at(at.row_keys) + slice_ * at.key_columns;
    float sum[at.dq_tiles][2 * at.dq_groups][4] = {};
#pragma unroll 2
    for (int key = 0; key < rows; key += Ops::depth) {
      typename Ops::A a[at.dq_tiles];
#pragma unroll
      for (int i = 0; i < at.dq_tiles; ++i)
        a[i] = Ops::load_columns(gradient + key * at.gradient_ld + 16 * i, at.gradient_ld);
#pragma unroll
      for (int g = 0; g < at.dq_groups; ++g) {
        if (group0 + g >= at.key_columns / 16) break;
        typename Ops::B b[2];
        Ops::load_raw_columns(b, keys + key * at.key_ld + 16 * (group0 + g), at.key_ld);
#pragma unroll
        for (int i = 0; i < at.dq_tiles; ++i) {
          Ops::multiply(sum[i][2 * g], a[i], b[0]);
          Ops::multiply(sum[i][2 * g + 1], a[i], b[1]);
        }
      }
    }
    const long long steps = (p_.seq + columns - 1) / columns;
    const long long part = ((batch_ * p_.heads + head_) * steps + n) * at.slices + slice_;
    float* out = static_cast<float*>(p_.work[work::dq_sums]) + part * at.dq_floats +
                 warp * (at.dq_floats / at.shape.warps) + lane() * 4;
#pragma unroll
    for (int g = 0; g < at.dq_groups; ++g) {
      if (group0 + g >= at.key_columns / 16) break;
#pragma unroll
      for (int i = 0; i < at.dq_tiles; ++i)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          add_to_sums(out + ((i * at.dq_groups + g) * 2 + e) * 128, sum[i][2 * g + e], loss_);
    }
  }

  /// Lanes whose numbers differ in `bit` divide 2 half sums between them. Each lane keeps half of
  /// them, in order.
  template <int half>
  static __device__ __forceinline__ void exchange(float (&sum)[columns / 4], int& first, int bit) {
    const bool upper = (lane() & bit) != 0;
    if (upper) first += half;
#pragma unroll
    for (int c = 0; c < half; ++c) {
      const float given = upper ? sum[c] : sum[half + c];
      const float kept = upper ? sum[half + c] : sum[c];
      sum[c] = kept + __shfl_xor_sync(0xffffffffu, given, bit);
    }
  }

  /// Adds the columns' sums of dS (for queries, over this block's keys) to the sums in device
  /// memory. Lanes that share columns exchange halves of their sums in each step, so each finished
  /// sum ends in one lane.
  __device__ __forceinline__ void add_query_sums(const Scores& d, long long n) {
    float sum[columns / 4];
#pragma unroll
    for (int m = 0; m < columns / 8; ++m)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        sum[2 * m + e] = 0.0f;
#pragma unroll
        for (int i = 0; i < tiles; ++i) sum[2 * m + e] += d[i][m][e] + d[i][m][2 + e];
      }
    int first = 0;
    exchange<columns / 8>(sum, first, 16);
    exchange<columns / 16>(sum, first, 8);
    exchange<columns / 32>(sum, first, 4);
    double* out = static_cast<double*>(p_.work[work::query_sums]) +
                  (batch_ * p_.heads + head_) * p_.seq + n * columns;
    const long long left = p_.seq - n * columns;
#pragma unroll
    for (int c = 0; c < columns / 32; ++c) {
      const int column = column_of((first + c) / 2, (first + c) % 2);
      if (column < left) atomicAdd(out + column, static_cast<double>(loss_ * sum[c]));
    }
  }

  /// Finishes the head's sums over its columns. They are sums of dS or, in a walk by keys with a
  /// constant decay, of (i - j) dS.
  __device__ __forceinline__ void finish_head() {
    if constexpr (trait::decay == 2 || (trait::decay == 1 && by_keys)) {
      const long long length = by_keys ? p_.key_seq : p_.seq;
      double* out = static_cast<double*>(p_.work[by_keys ? work::key_sums : work::query_sums]) +
                    (batch_ * p_.heads + head_) * length + row0_;
#pragma unroll
      for (int i = 0; i < tiles; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          RowSum x = row_sum_[i][half];
          x += __shfl_xor_sync(0xffffffffu, x, 1);
          x += __shfl_xor_sync(0xffffffffu, x, 2);
          const int r = row_of(i, half);
          if (lane() % 4 == 0 && r < rows_ && slice_ == 0) out[r] = static_cast<double>(loss_ * x);
          row_sum_[i][half] = RowSum{};
        }
    }
  }

  /// Stores the warp's rows of a result with `whole` columns, in the columns from slice * width on.
  template <int whole, int width>
  __device__ __forceinline__ void store(void* tensor, const TokenStrides& strides, long long head,
                                        const float (&sum)[tiles][width / 8][4],
                                        float factor) const {
    io_t* out = static_cast<io_t*>(tensor) + batch_ * strides.batch + head * strides.heads +
                row0_ * strides.seq;
#pragma unroll
    for (int i = 0; i < tiles; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int r = row_of(i, half);
        if (r >= rows_) continue;
#pragma unroll
        for (int n = 0; n < width / 8; ++n) {
          const int column = slice_ * width + column_of(n, 0);
          const float x = factor * sum[i][n][2 * half], y = factor * sum[i][n][2 * half + 1];
          io_t* to = out + r * strides.seq + column;
          if constexpr (whole % 2 == 0) {
            if (column < whole) device::store_pair(to, x, y);
          } else {
            if (column < whole) to[0] = device::from_float<io_t>(x);
            if (column + 1 < whole) to[1] = device::from_float<io_t>(y);
          }
        }
      }
  }

  __device__ __forceinline__ void store_results() const {
    if constexpr (by_keys) {
      const long long head = head_ / trait::group;
      store<dim::key_dim, at.key_columns>(p_.dk, dk_strides(p_), head, keys_sum_, loss_ * p_.scale);
      store<dim::value_dim, at.value_columns>(p_.dv, dv_strides(p_), head, values_sum_,
                                              1.0f / score_gain);
    } else {
      store<dim::key_dim, at.key_columns>(p_.dq, dq_strides(p_), head_, keys_sum_,
                                          loss_ * p_.scale);
    }
  }
};

}  // namespace gla_bench::softmax_attention
