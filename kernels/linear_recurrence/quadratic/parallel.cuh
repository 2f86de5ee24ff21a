#pragma once
// parallel: the whole (Q K^T (.) decays) V, quadratic in T, in one fused kernel. No score leaves
// the chip.
//
// Idea: the sequence is cut into blocks of R tokens. A query in block I and a key in block J < I
// are linked by
//   q e^(prefix inside I) . D . k e^(suffix inside J),  D = the decays of the blocks between.
// There is one such factor per key dimension. All are <= 1, so nothing can overflow, and each sum
// of gates starts where it matters. The walk goes from J = I down to 0. At each step D grows by one
// block, and multiplies k in float32, before k is rounded for the only time. Once D is zero in
// every dimension (it underflowed), nothing further back can contribute, and the walk stops. With
// realistic gates the walk is therefore limited to a window. Inside the diagonal block, a tree of
// halves does the same (diagonal_scores.cuh).
//
// Scalar decays, or none: scores are plain q k^T. With scalar decays each is multiplied by the same
// three factors (scalar.cuh).
//
// Normalized outputs: each output is divided by its row's sum of scores.
//
// Output before the update: q's decays leave out the token's own gate, and the diagonal is the
// bonus's.
//
// Grids: gla_parallel has sequences * blocks * value slices, with slices varying fastest and long
// walks first. A warp owns 16 query rows, and keys come in chunks of block_k. Scores stay in
// accumulators, which are the next product's operand. gla_parallel_state (state.cuh) has sequences
// * key chunks * value slices.
//
// Shared memory: layout.h.
//
// Bytes: each query block reads its q, and k, g, v of all blocks up to it, mostly through the L2
// cache. o is written once.

#include "linear_recurrence/quadratic/results.cuh"
#include "linear_recurrence/quadratic/state.cuh"

namespace gla_bench::linear_recurrence::parallel {

struct Outputs : Results {
  __device__ __forceinline__ void run() {
    Result result = {};
    float sums[2] = {};  // of the scores of this thread's rows, where outputs are normalized
    {
      Scores scores = {};
      if constexpr (key_gates)
        diagonal_decayed(scores);
      else
        diagonal_plain(scores);
      add_sums(sums, scores);
      add_values<true>(result, scores, 0);
    }
    float decay = 1.0f;  // of all blocks before, where it is one scalar
    const bool alive = key_gates ? walk_decayed(result) : walk_plain(result, sums, decay);
    if (alive && s.initial != nullptr) {
      if constexpr (scalar_decay) decay_queries();
      add_initial(result, decay);
      if constexpr (normalized) add_initial_sums(sums);
    }
    store(result, sums);
  }

 private:
  /// Scores of the query block with itself. Afterwards the queries in shared memory have their
  /// decay from the block's start.
  __device__ __forceinline__ void diagonal_decayed(Scores& scores) {
    load_values<threads>(shared.values_of(0), s, i);
    for (int k = threadIdx.x; k < keys; k += threads) shared.decays()[k] = 1.0f;
    float own = 0.0f;
    for (int c = 0; c < chunks; ++c) {
      const io_t *k = shared.keys_of(0), *q = shared.keys_of(1);
      const gate_t* g = shared.gates_of(0);
      load_keys<threads>(shared.keys_of(0), s.k, s, i, c);
      load_gates<threads>(shared.gates_of(0), s, i, c);
      load_keys<threads>(shared.keys_of(1), s.q, s, i, c);
      device::commit_copies();
      device::wait_copies<0>();
      __syncthreads();
      Gates::sum<threads>(g, shared.sums());
      if constexpr (bonus) own += Diagonal::own_score(q, k, s.u + c * chunk, key_dim - c * chunk);
      __syncthreads();
      Gates::template prefixed<Ops, threads>(q, g, shared.sums(), shared.queries() + c * chunk,
                                             query_ld);
      Diagonal::add(scores, q, k, g, shared.sums(), shared.operand(0), shared.operand(1));
    }
    if constexpr (bonus) {
      Diagonal::store_own(own, shared.rows());
      __syncthreads();
      Diagonal::keep_lower(scores, shared.rows());
    } else {
      Diagonal::keep_lower(scores);
    }
  }

  /// The same from plain products. The queries stay as they are.
  __device__ __forceinline__ void diagonal_plain(Scores& scores) {
    load_values<threads>(shared.values_of(0), s, i);
    ScalarGates gates(s, shared);
    if constexpr (scalar_decay) {
      gates.load(i);
      gates.form_prefixes(s.rows(i));
    }
    const auto one = [](int) { return 1.0f; };
    for (int c = 0; c < chunks; ++c) {
      load_keys<threads>(shared.keys_of(0), s.k, s, i, c);
      load_keys<threads>(shared.keys_of(1), s.q, s, i, c);
      device::commit_copies();
      device::wait_copies<0>();
      __syncthreads();
      const int valid = key_dim - c * chunk;
      form_rows<threads>(shared.keys_of(1), shared.queries() + c * chunk, query_ld, s.rows(i),
                         valid, one);
      form_keys(0, i, c);
      __syncthreads();
      multiply_whole(scores, c, 0);
      __syncthreads();
    }
    if constexpr (scalar_decay) gates.decay_pairs(scores);
    Diagonal::keep_lower(scores);
  }

  /// Forms the operands of a chunk of block j's keys, where they are not the raw rows.
  __device__ __forceinline__ void form_keys(int stage, long long j, int c) const {
    if constexpr (!raw_rows)
      form_rows<threads>(shared.keys_of(stage), shared.operand(0), key_ld, s.rows(j),
                         key_dim - c * chunk, [](int) { return 1.0f; });
  }

  __device__ __forceinline__ static void clear(Scores& scores) {
#pragma unroll
    for (int n = 0; n < tiles_j; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) scores[n][x] = 0.0f;
  }

  /// Starts the copies of step n of the walk: chunk n % chunks of block i - 1 - n / chunks.
  __device__ __forceinline__ void load_step(long long n) const {
    const long long j = i - 1 - n / chunks;
    const int c = static_cast<int>(n % chunks), stage = static_cast<int>(n % 2);
    if (j >= 0) {
      load_keys<threads>(shared.keys_of(stage), s.k, s, j, c);
      if constexpr (key_gates) load_gates<threads>(shared.gates_of(stage), s, j, c);
      if (c == 0) load_values<threads>(shared.values_of(static_cast<int>((i - j) % 2)), s, j);
    }
    device::commit_copies();
  }

  /// Adds the contributions of the blocks before the diagonal, nearest first. Returns false if the
  /// decays have died out on the way.
  __device__ __forceinline__ bool walk_decayed(Result& result) {
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
      alive |= extend_decays<threads>(shared, decays, key_dim - c * chunk);
      multiply_whole(scores, c, stage);
      if (c == chunks - 1) {
        add_values<false>(result, scores, static_cast<int>((n / chunks + 1) % 2));
        clear(scores);
      }
    }
    device::wait_copies<0>();
    return __syncthreads_or(alive) != 0;
  }

  /// The same from plain products. On return `decay` is that of all blocks before. A block's
  /// factors are formed during the walk over the block after it, from gates loaded one block
  /// earlier still.
  __device__ __forceinline__ bool walk_plain(Result& result, float (&sums)[2], float& decay) {
    ScalarGates gates(s, shared);
    if constexpr (scalar_decay) {
      gates.load(i - 1);
      if (i > 0) gates.form_factors(1, block);
      gates.load(i - 2);
    }
    load_step(0);
    Scores scores = {};
    for (long long n = 0; n < i * chunks; ++n) {
      const int c = static_cast<int>(n % chunks), stage = static_cast<int>(n % 2);
      const int parity = static_cast<int>((n / chunks + 1) % 2);
      device::wait_copies<0>();
      __syncthreads();
      if (scalar_decay && decay == 0.0f) return false;  // same for the whole block: all leave
      load_step(n + 1);
      if constexpr (scalar_decay)
        if (c == 0) {
          gates.form_factors(1 - parity, block);
          gates.load(i - 3 - n / chunks);
        }
      if constexpr (!raw_rows) {
        form_keys(stage, i - 1 - n / chunks, c);
        __syncthreads();
      }
      multiply_whole(scores, c, stage);
      if (c == chunks - 1) {
        if constexpr (scalar_decay) decay_block(scores, shared.factors(parity), decay);
        add_sums(sums, scores);
        add_values<false>(result, scores, parity);
        clear(scores);
      }
    }
    device::wait_copies<0>();
    __syncthreads();
    return !(scalar_decay && decay == 0.0f);
  }

  /// Multiplies scores with an earlier block by their decays, and extends `decay` to the next
  /// block.
  __device__ __forceinline__ void decay_block(Scores& scores, const float* factors,
                                              float& decay) const {
    const int row = warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    const ScalarGates gates(s, shared);
    const float of_rows[2] = {decay * gates.of_query(row), decay * gates.of_query(row + 8)};
#pragma unroll
    for (int n = 0; n < tiles_j; ++n) {
      const float2 of_keys = device::load_pair(factors + 8 * n + column);
#pragma unroll
      for (int x = 0; x < 4; ++x)
        scores[n][x] *= of_rows[x / 2] * (x % 2 == 0 ? of_keys.x : of_keys.y);
    }
    decay *= factors[block];
  }

  /// scores += queries times the keys in shared memory, for all rows and all columns.
  __device__ __forceinline__ void multiply_whole(Scores& scores, int c, int stage) const {
    const operand_t* a = shared.queries() + warp_row() * query_ld + c * chunk;
    const operand_t* b = shared.operand(0);
    if constexpr (raw_rows) b = reinterpret_cast<const operand_t*>(shared.keys_of(stage));
#pragma unroll 2
    for (int step = 0; step < chunk; step += Ops::depth) {
      const typename Ops::A rows = Ops::load_rows(a + step, query_ld);
#pragma unroll
      for (int n = 0; n < tiles_j; n += 2) {
        typename Ops::B columns[2];
        Ops::load_rows(columns, b + n * 8 * key_ld + step, key_ld);
        Ops::multiply(scores[n], rows, columns[0]);
        Ops::multiply(scores[n + 1], rows, columns[1]);
      }
    }
  }
};

}  // namespace gla_bench::linear_recurrence::parallel

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::parallel::layout.threads)
    gla_parallel(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel;
  extern __shared__ __align__(16) unsigned char shared[];
  const Place place = place_of(p, blockIdx.x / slices);
  const Sequence sequence(p, place.sequence, static_cast<int>(blockIdx.x % slices));
  if (place.block * block < sequence.tokens) Outputs{{p, sequence, {shared}, place.block}}.run();
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel::layout.state_threads, 1)
    gla_parallel_state(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel;
  extern __shared__ __align__(16) unsigned char shared[];
  const long long task = blockIdx.x / slices;
  const Sequence sequence(p, task / chunks, static_cast<int>(blockIdx.x % slices));
  FinalState{p, sequence, {shared}, static_cast<int>(task % chunks)}.run();
}
