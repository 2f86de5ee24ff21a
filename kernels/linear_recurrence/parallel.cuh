#pragma once
// parallel: the whole (Q K^T (.) decays) V, quadratic in T, fused: no score leaves the chip.
//
// With blocks of R tokens, a query in block I and a key in block J < I are linked by
//   q e^(prefix inside I) . D . k e^(suffix inside J),  D = the decays of the blocks between,
// one factor per key dimension, all of them <= 1, so nothing can overflow and each sum of gates
// starts where it matters. The walk goes from J = I down to 0; D grows by one block per step and
// multiplies k in float32, before its one rounding. Once D is zero in every dimension (it
// underflowed) nothing further back can contribute, and the walk stops: with real gates this is a
// window. Inside the diagonal block a tree of halves does the same (diagonal_scores.cuh).
//
// gla_parallel: grid sequences * blocks * value slices, slices fastest, long walks first; a warp
// owns 16 query rows, keys come in chunks of block_k. Scores stay in accumulators, which are the
// next product's operand. gla_parallel_state (parallel_state.cuh): grid sequences * key chunks *
// value slices. Shared memory: parallel_layout.h. Bytes: per query block its q, and k, g, v of all
// blocks up to it, mostly through L2; o once.

#include "device/store_rows.cuh"
#include "linear_recurrence/diagonal_scores.cuh"
#include "linear_recurrence/parallel_blocks.cuh"
#include "linear_recurrence/parallel_state.cuh"

namespace gla_bench::linear_recurrence::parallel {

using Diagonal = DiagonalScores<Ops, block, chunk, key_ld>;

struct Outputs {
  static constexpr int threads = layout.threads;
  static constexpr int tiles_j = block / 8, tiles_v = block_v / 8;
  using Scores = Diagonal::Scores;
  using Result = float[tiles_v][4];

  const LinearRecurrenceParams& p;
  const Sequence& s;
  Shared shared;
  long long i;  // the query block

  __device__ __forceinline__ void run() {
    Result result = {};
    {
      Scores scores = {};
      diagonal(scores);
      add_values<true>(result, scores, 0);
    }
    if (walk(result) && p.initial_state != nullptr) add_initial(result);
    store(result);
  }

 private:
  /// Scores of the query block with itself; leaves the queries with their decay from the block's
  /// start.
  __device__ __forceinline__ void diagonal(Scores& scores) {
    load_values<threads>(shared.values_of(0), s, i);
    for (int k = threadIdx.x; k < keys; k += threads) shared.decays()[k] = 1.0f;
    for (int c = 0; c < chunks; ++c) {
      const io_t *k = shared.keys_of(0), *g = shared.gates_of(0), *q = shared.keys_of(1);
      load_keys<threads>(shared.keys_of(0), s.k, s, i, c);
      load_keys<threads>(shared.gates_of(0), s.g, s, i, c);
      load_keys<threads>(shared.keys_of(1), s.q, s, i, c);
      device::commit_copies();
      device::wait_copies<0>();
      __syncthreads();
      Gates::sum<threads>(g, shared.sums());
      __syncthreads();
      Gates::template prefixed<Ops, threads>(q, g, shared.sums(), shared.queries() + c * chunk,
                                             query_ld);
      Diagonal::add(scores, q, k, g, shared.sums(), shared.operand(0), shared.operand(1));
    }
    Diagonal::keep_lower(scores);
  }

  /// result += scores times the block's v. Precise: 16-bit scores come in two parts, for a score's
  /// rounding error is shared by a whole row of outputs and few scores matter near the diagonal.
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

  /// What from_accumulators() loses.
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

  /// Starts the copies of step n of the walk: chunk n % chunks of block i - 1 - n / chunks.
  __device__ __forceinline__ void load_step(long long n) const {
    const long long j = i - 1 - n / chunks;
    const int c = static_cast<int>(n % chunks), stage = static_cast<int>(n % 2);
    if (j >= 0) {
      load_keys<threads>(shared.keys_of(stage), s.k, s, j, c);
      load_keys<threads>(shared.gates_of(stage), s.g, s, j, c);
      if (c == 0) load_values<threads>(shared.values_of(static_cast<int>((i - j) % 2)), s, j);
    }
    device::commit_copies();
  }

  /// Adds the blocks before the diagonal, nearest first. False if the decays have died out on the
  /// way.
  __device__ __forceinline__ bool walk(Result& result) {
    bool alive = true;
    load_step(0);
    Scores scores = {};
    for (long long n = 0; n < i * chunks; ++n) {
      const int c = static_cast<int>(n % chunks), stage = static_cast<int>(n % 2);
      device::wait_copies<0>();
      if (c == 0) {
        if (!__syncthreads_or(alive)) return false;
        alive = false;
      } else {
        __syncthreads();
      }
      load_step(n + 1);
      Gates::sum<threads>(shared.gates_of(stage), shared.sums());
      __syncthreads();
      float* decays = shared.decays() + c * chunk;
      Gates::template suffixed<Ops, threads>(shared.keys_of(stage), shared.gates_of(stage),
                                             shared.sums(), decays, shared.operand(0));
      __syncthreads();
      alive |= extend_decays<threads>(shared, decays);
      multiply_whole(scores, c);
      if (c == chunks - 1) {
        const long long j = i - 1 - n / chunks;
        add_values<false>(result, scores, static_cast<int>((i - j) % 2));
#pragma unroll
        for (int t = 0; t < tiles_j; ++t)
#pragma unroll
          for (int x = 0; x < 4; ++x) scores[t][x] = 0.0f;
      }
    }
    device::wait_copies<0>();
    return __syncthreads_or(alive) != 0;
  }

  /// scores += queries times the keys in hand, all rows with all columns.
  __device__ __forceinline__ void multiply_whole(Scores& scores, int c) const {
    const operand_t* a = shared.queries() + warp_row() * query_ld + c * chunk;
#pragma unroll 2
    for (int step = 0; step < chunk; step += Ops::depth) {
      const typename Ops::A rows = Ops::load_rows(a + step, query_ld);
#pragma unroll
      for (int n = 0; n < tiles_j; n += 2) {
        typename Ops::B columns[2];
        Ops::load_rows(columns, shared.operand(0) + n * 8 * key_ld + step, key_ld);
        Ops::multiply(scores[n], rows, columns[0]);
        Ops::multiply(scores[n + 1], rows, columns[1]);
      }
    }
  }

  /// result += q e^(prefix from the sequence's start) S0.
  __device__ __forceinline__ void add_initial(Result& result) const {
    const float* initial = p.initial_state + s.matrix + s.first_v;
    operand_t* state = shared.operand(0);  // [chunk, value_ld]
    for (int c = 0; c < chunks; ++c) {
      __syncthreads();
      for (int at = threadIdx.x; at < chunk * block_v; at += threads) {
        const int k = at / block_v, v = at % block_v, key = c * chunk + k;
        const bool valid = key < key_dim && v < value_dim - s.first_v;
        const float x = valid ? initial[static_cast<long long>(key) * value_dim + v] : 0.0f;
        state[k * value_ld + v] = Ops::rounded(x * shared.decays()[key]);
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

  __device__ __forceinline__ void store(const Result& result) const {
    float* output = reinterpret_cast<float*>(shared.base);
    const int row = warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    __syncthreads();
#pragma unroll
    for (int n = 0; n < tiles_v; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        device::store_pair(output + (row + 8 * half) * layout.output_ld + 8 * n + column,
                           p.scale * result[n][2 * half], p.scale * result[n][2 * half + 1]);
    __syncthreads();
    device::store_rows<threads, block_v, value_dim>(s.o + i * block * s.value_stride,
                                                    s.value_stride, output, layout.output_ld,
                                                    s.rows(i), value_dim - s.first_v);
  }
};

}  // namespace gla_bench::linear_recurrence::parallel

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::parallel::layout.threads)
    gla_parallel(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel;
  extern __shared__ __align__(16) unsigned char shared[];
  const long long blocks = (p.seq + block - 1) / block;
  const long long task = blockIdx.x / slices;
  const Sequence sequence(p, task / blocks, static_cast<int>(blockIdx.x % slices));
  Outputs{p, sequence, {shared}, blocks - 1 - task % blocks}.run();
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel::layout.state_threads)
    gla_parallel_state(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel;
  extern __shared__ __align__(16) unsigned char shared[];
  const long long task = blockIdx.x / slices;
  const Sequence sequence(p, task / chunks, static_cast<int>(blockIdx.x % slices));
  FinalState{p, sequence, {shared}, static_cast<int>(task % chunks)}.run();
}
