#pragma once
// The outputs of one query block in accumulators: what the scores and the initial state add to
// them, the sums that normalize them, and how they are stored.

#include "device/store_rows.cuh"
#include "linear_recurrence/chunk/diagonal_scores.cuh"
#include "linear_recurrence/quadratic/scalar.cuh"

namespace gla_bench::linear_recurrence::parallel {

using Diagonal = DiagonalScores<Ops, block, chunk, key_ld>;

struct Results {
  static constexpr int threads = layout.threads;
  static constexpr int tiles_j = block / 8, tiles_v = block_v / 8;
  using Scores = Diagonal::Scores;
  using Result = float[tiles_v][4];

  const LinearRecurrenceParams& p;
  const Sequence& s;
  Shared shared;
  long long i;  // the query block

  __device__ __forceinline__ static void add_sums(float (&sums)[2], const Scores& scores) {
    if constexpr (normalized)
#pragma unroll
      for (int n = 0; n < tiles_j; ++n)
#pragma unroll
        for (int x = 0; x < 4; ++x) sums[x / 2] += scores[n][x];
  }

  /// result += scores times the block's v. If `precise`, 16-bit scores are split into two parts. A
  /// whole row of outputs shares a score's rounding error, and near the diagonal few scores matter.
  template <bool precise>
  __device__ __forceinline__ void add_values(Result& result, const Scores& scores,
                                             int stage) const {
    const io_t* v = shared.values_of(stage);
#pragma unroll
    for (int step = 0; step < block / Ops::depth; ++step) {
      const typename Ops::A a = Ops::from_accumulators(scores, step);
      typename Ops::A rest;
      if constexpr (precise && sizeof(operand_t) == 2) rest = remainder(scores, step);
#pragma unroll
      for (int n = 0; n < tiles_v; n += 2) {
        typename Ops::B b[2];
        Ops::load_paired_columns(b, v + step * Ops::depth * value_ld + n * 8, value_ld);
#pragma unroll
        for (int x = 0; x < 2; ++x) {
          if constexpr (precise && sizeof(operand_t) == 2) Ops::multiply(result[n + x], rest, b[x]);
          Ops::multiply(result[n + x], a, b[x]);
        }
      }
    }
  }

  /// The part of the scores that from_accumulators() loses to rounding.
  __device__ __forceinline__ static typename Ops::A remainder(const Scores& scores, int step) {
    constexpr int tiles = Ops::depth / 8;
    float lost[tiles][4];
#pragma unroll
    for (int t = 0; t < tiles; ++t)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const float score = scores[step * tiles + t][x];
        lost[t][x] = score - device::to_float(Ops::rounded(score));
      }
    return Ops::from_accumulators(lost, 0);
  }

  /// Multiplies the queries by their scalar decay from the block's start.
  __device__ __forceinline__ void decay_queries() const {
    const ScalarGates gates(s, shared);
    for (int at = threadIdx.x; at < block * keys; at += threads) {
      const int row = at / keys;
      operand_t& q = shared.queries()[row * query_ld + at % keys];
      q = Ops::rounded(device::to_float(q) * gates.of_query(row));
    }
  }

  /// result += q e^(prefix from the sequence's start) S0. `decay`: the decay of all blocks before,
  /// where it is one scalar.
  __device__ __forceinline__ void add_initial(Result& result, float decay) const {
    operand_t* state = shared.operand(0);  // [chunk, value_ld]
    for (int c = 0; c < chunks; ++c) {
      __syncthreads();
      for (int at = threadIdx.x; at < chunk * block_v; at += threads) {
        const int k = at / block_v, v = at % block_v, key = c * chunk + k;
        const bool valid = key < key_dim && v < value_dim - s.first_v;
        const float x =
            valid ? device::to_float(s.initial[state_offset(key, s.first_v + v)]) : 0.0f;
        state[k * value_ld + v] = Ops::rounded(x * (key_gates ? shared.decays()[key] : decay));
      }
      __syncthreads();
      const operand_t* a = shared.queries() + warp_row() * query_ld + c * chunk;
#pragma unroll 2
      for (int step = 0; step < chunk; step += Ops::depth) {
        const typename Ops::A rows = Ops::load_rows(a + step, query_ld);
#pragma unroll
        for (int n = 0; n < tiles_v; n += 2) {
          typename Ops::B columns[2];
          Ops::load_paired_columns(columns, state + step * value_ld + n * 8, value_ld);
          Ops::multiply(result[n], rows, columns[0]);
          Ops::multiply(result[n + 1], rows, columns[1]);
        }
      }
    }
  }

  /// Adds q z0 over this thread's quarter of the keys to the sums.
  __device__ __forceinline__ void add_initial_sums(float (&sums)[2]) const {
    const float* z = p.initial_normalizer + s.number * key_dim;
    const operand_t* q = shared.queries() + (warp_row() + threadIdx.x % 32 / 4) * query_ld;
    for (int key = threadIdx.x % 4; key < key_dim; key += 4) {
      sums[0] = fmaf(device::to_float(q[key]), z[key], sums[0]);
      sums[1] = fmaf(device::to_float(q[8 * query_ld + key]), z[key], sums[1]);
    }
  }

  /// The factor of a row of outputs. `sum` is the row's sum over this thread's share.
  __device__ __forceinline__ float output_factor(float sum) const {
    if constexpr (!normalized) return p.scale;
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    return p.scale / (p.scale * sum + p.epsilon);
  }

  __device__ __forceinline__ void store(const Result& result, const float (&sums)[2]) const {
    float* output = reinterpret_cast<float*>(shared.base);
    const int row = warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    const float factors[2] = {output_factor(sums[0]), output_factor(sums[1])};
    __syncthreads();
#pragma unroll
    for (int n = 0; n < tiles_v; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        device::store_pair(output + (row + 8 * half) * layout.output_ld + 8 * n + column,
                           factors[half] * result[n][2 * half],
                           factors[half] * result[n][2 * half + 1]);
    __syncthreads();
    device::store_rows<threads, block_v, value_dim>(s.o + i * block * s.output_stride,
                                                    s.output_stride, output, layout.output_ld,
                                                    s.rows(i), value_dim - s.first_v);
  }
};

}  // namespace gla_bench::linear_recurrence::parallel
