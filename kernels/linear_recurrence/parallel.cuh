#pragma once
// parallel: the whole (Q K^T (.) decays) V, quadratic in T, fused: no score leaves the chip.
//
// With blocks of R tokens, a query in block I and a key in block J < I are linked by
//   q e^(prefix inside I) . D . k e^(suffix inside J),  D = the decays of the blocks between,
// one factor per key dimension, all of them <= 1, so nothing can overflow and each sum of gates
// starts where it matters. The walk goes from J = I down to 0, D grows by one block per step and
// multiplies k in float32, before its one rounding. Once D is zero in every dimension (it
// underflowed) nothing further back can contribute, and the walk stops: with real gates this is a
// window. The diagonal block is a binary tree: rows of right halves times columns of left halves, n
// = R/2 .. 8 tokens, again with factors <= 1; inside 8 tokens both refer to the middle, where gates
// clamped at -20 keep exponents within 80 nats. Sums inside 8 tokens start at their middle too.
//
// gla_parallel: grid sequences * blocks * value slices, slices fastest, long walks first; a warp
// owns 16 query rows, keys come in chunks of block_k. Scores stay in accumulators, which are the
// next product's operand. gla_parallel_state: the final state, sum of k e^(suffix to the end) v^T,
// walks backwards in the same way; grid sequences * key chunks * value slices. Shared memory:
// parallel_layout.h. Bytes: per query block its q, and k, g, v of all blocks up to it (through L2);
// o once.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "device/products.cuh"
#include "device/store_rows.cuh"
#include "linear_recurrence/diagonal_scores.cuh"
#include "linear_recurrence/gate_blocks.cuh"
#include "linear_recurrence/parallel_layout.h"
#include "linear_recurrence/params.h"

namespace gla_bench::linear_recurrence::parallel {

using Ops = device::Products<io_t, tile::terms, dim::key_dim>;
using operand_t = Ops::element;

constexpr int key_dim = dim::key_dim, value_dim = dim::value_dim;
constexpr int block = tile::block, block_v = tile::block_v;
constexpr ParallelLayout layout{key_dim, value_dim,     sizeof(io_t), sizeof(operand_t),
                                block,   tile::block_k, block_v};
constexpr int chunk = layout.chunk, chunks = layout.chunks, keys = layout.keys;
constexpr int key_ld = layout.key_ld, query_ld = layout.query_ld, value_ld = layout.value_ld;
constexpr int slices = (value_dim + block_v - 1) / block_v;

using Gates = GateBlocks<block, chunk, key_ld>;
using Diagonal = DiagonalScores<Ops, block, chunk, key_ld>;

/// One sequence's tensors, v and o at the first column of the slice.
struct Sequence {
  const io_t *q, *k, *v, *g;
  io_t* o;
  long long key_stride, value_stride, tokens, matrix;
  int first_v;

  __device__ __forceinline__ Sequence(const LinearRecurrenceParams& p, long long sequence,
                                      int slice) {
    const long long b = sequence / p.heads, h = sequence % p.heads;
    const long long key = b * p.key_strides.batch + h * p.key_strides.heads;
    first_v = slice * block_v;
    const long long value = b * p.value_strides.batch + h * p.value_strides.heads + first_v;
    q = static_cast<const io_t*>(p.q) + key;
    k = static_cast<const io_t*>(p.k) + key;
    g = static_cast<const io_t*>(p.g) + key;
    v = static_cast<const io_t*>(p.v) + value;
    o = static_cast<io_t*>(p.o) + value;
    key_stride = p.key_strides.seq;
    value_stride = p.value_strides.seq;
    tokens = p.seq;
    matrix = sequence * key_dim * value_dim;
  }

  __device__ __forceinline__ int rows(long long j) const {
    const long long left = tokens - j * block;
    return left < block ? static_cast<int>(left) : block;
  }
};

/// Places in shared memory.
struct Shared {
  unsigned char* base;

  __device__ __forceinline__ io_t* keys_of(int stage) const {
    return reinterpret_cast<io_t*>(base + 2 * stage * layout.key_tile);
  }
  __device__ __forceinline__ io_t* gates_of(int stage) const {
    return reinterpret_cast<io_t*>(base + (2 * stage + 1) * layout.key_tile);
  }
  __device__ __forceinline__ io_t* values_of(int stage) const {
    return reinterpret_cast<io_t*>(base + layout.values + stage * layout.value_tile);
  }
  __device__ __forceinline__ float* sums() const {
    return reinterpret_cast<float*>(base + layout.sums);
  }
  __device__ __forceinline__ float* decays() const {
    return reinterpret_cast<float*>(base + layout.decays);
  }
  __device__ __forceinline__ operand_t* operand(int n) const {
    return reinterpret_cast<operand_t*>(base + layout.operand + n * layout.operand_tile);
  }
  __device__ __forceinline__ operand_t* queries() const {
    return reinterpret_cast<operand_t*>(base + layout.queries);
  }
};

template <int threads>
__device__ __forceinline__ void load_keys(io_t* target, const io_t* source, const Sequence& s,
                                          long long j, int c) {
  device::copy_rows_async<threads, block, chunk, key_ld, key_dim>(
      target, source + j * block * s.key_stride + c * chunk, s.key_stride, s.rows(j),
      key_dim - c * chunk);
}

template <int threads>
__device__ __forceinline__ void load_values(io_t* target, const Sequence& s, long long j) {
  device::copy_rows_async<threads, block, block_v, value_ld, value_dim>(
      target, s.v + j * block * s.value_stride, s.value_stride, s.rows(j), value_dim - s.first_v);
}

/// Multiplies the running decays of a chunk by those of the block whose sums lie in shared memory.
/// True where one of this thread's stays above zero.
template <int threads>
__device__ __forceinline__ bool extend_decays(const Shared& shared, float* decays) {
  bool alive = false;
  for (int k = threadIdx.x; k < chunk; k += threads) {
    float sum = 0.0f;
#pragma unroll
    for (int b = 0; b < block / 8; ++b) sum += shared.sums()[b * chunk + k];
    decays[k] *= device::exp2_fast(sum);
    alive |= decays[k] != 0.0f;
  }
  return alive;
}

__device__ __forceinline__ int warp_row() {
  return static_cast<int>(threadIdx.x) / 32 * 16;
}

// ---- outputs

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

// ---- final state

struct FinalState {
  static constexpr int threads = layout.state_threads;
  static constexpr int tiles_v = block_v / 8;

  const LinearRecurrenceParams& p;
  const Sequence& s;
  Shared shared;
  int c;  // the chunk of keys

  __device__ __forceinline__ void run() {
    float state[tiles_v][4] = {};
    const long long blocks = (s.tokens + block - 1) / block;
    float* decays = shared.decays();
    for (int k = threadIdx.x; k < chunk; k += threads) decays[k] = 1.0f;
    bool alive = true;
    load_step(blocks - 1);
    for (long long j = blocks - 1; j >= 0; --j) {
      const int stage = static_cast<int>(j % 2);
      device::wait_copies<0>();
      if (!__syncthreads_or(alive)) break;
      load_step(j - 1);
      Gates::sum<threads>(shared.gates_of(stage), shared.sums());
      __syncthreads();
      Gates::template suffixed<Ops, threads>(shared.keys_of(stage), shared.gates_of(stage),
                                             shared.sums(), decays, shared.operand(0));
      __syncthreads();
      alive = extend_decays<threads>(shared, decays);
      multiply(state, stage);
    }
    device::wait_copies<0>();
    __syncthreads();
    store(state);
  }

 private:
  __device__ __forceinline__ void load_step(long long j) const {
    if (j >= 0) {
      const int stage = static_cast<int>(j % 2);
      load_keys<threads>(shared.keys_of(stage), s.k, s, j, c);
      load_keys<threads>(shared.gates_of(stage), s.g, s, j, c);
      load_values<threads>(shared.values_of(stage), s, j);
    }
    device::commit_copies();
  }

  /// state += (keys in hand)^T v.
  __device__ __forceinline__ void multiply(float (&state)[tiles_v][4], int stage) const {
#pragma unroll 2
    for (int step = 0; step < block; step += Ops::depth) {
      const typename Ops::A a =
          Ops::load_columns(shared.operand(0) + step * key_ld + warp_row(), key_ld);
#pragma unroll
      for (int n = 0; n < tiles_v; n += 2) {
        typename Ops::B b[2];
        Ops::load_raw_columns(b, shared.values_of(stage) + step * value_ld + n * 8, value_ld);
        Ops::multiply(state[n], a, b[0]);
        Ops::multiply(state[n + 1], a, b[1]);
      }
    }
  }

  /// Adds the initial state and writes.
  __device__ __forceinline__ void store(const float (&state)[tiles_v][4]) const {
    const int row = warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < tiles_v; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int k = row + x / 2 * 8, key = c * chunk + k, v = s.first_v + 8 * n + column + x % 2;
        if (key >= key_dim || v >= value_dim) continue;
        const long long at = s.matrix + static_cast<long long>(key) * value_dim + v;
        float sum = state[n][x];
        if (p.initial_state != nullptr) sum = fmaf(shared.decays()[k], p.initial_state[at], sum);
        p.final_state[at] = sum;
      }
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
