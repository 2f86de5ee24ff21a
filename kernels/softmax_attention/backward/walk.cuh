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

#include "softmax_attention/backward/scores.cuh"

namespace gla_bench::softmax_attention {

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
class BackwardWalk : public BackwardScores<by_keys, adds_dq> {
  using Base = BackwardScores<by_keys, adds_dq>;

 public:
  using Base::at;
  using Base::Base;

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
  using Base::batch_, Base::column_keys, Base::column_of, Base::column_values, Base::columns;
  using Base::copy_sums, Base::differentiate, Base::form_column_terms, Base::form_row_terms;
  using Base::head_, Base::lane, Base::load_columns, Base::load_rows, Base::loss_, Base::offset_;
  using Base::on_edge, Base::p_, Base::row0_, Base::row_of, Base::row_position, Base::row_sum_;
  using Base::row_sums, Base::rows, Base::rows_, Base::score, Base::slice_, Base::tile_at;
  using Base::tiles, Base::weigh;
  using typename Base::RowSum, typename Base::Scores;
  using Ops = typename BackwardProducts<io_t, tile::terms>::type;

  float keys_sum_[tiles][at.key_columns / 8][4] = {};
  float values_sum_[tiles][by_keys ? at.value_columns / 8 : 1][4] = {};

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
    if constexpr (trait::decay == 2) this->template copy_sums<rows>(row_sums(), row_position());
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

  __device__ __forceinline__ void step(long long n, int stage) {
    Scores s, d;
    this->template score<at.key_ld - 8, at.key_ld>(s, tile_at(at.row_keys), column_keys(stage));
    if (on_edge(n))
      this->template weigh<true>(s, n, stage);
    else
      this->template weigh<false>(s, n, stage);
    if constexpr (by_keys)
      this->template add<at.value_ld, at.value_columns>(
          values_sum_, s, column_values(stage) + slice_ * at.value_columns);
    this->template score<at.value_ld - 8, at.value_ld>(d, tile_at(at.row_values),
                                                       column_values(stage));
    differentiate(s, d, n, stage);
    if constexpr (adds_dq) put_gradient(d);
    this->template add<at.key_ld, at.key_columns>(keys_sum_, d,
                                                  column_keys(stage) + slice_ * at.key_columns);
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