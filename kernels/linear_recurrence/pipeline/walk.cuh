#pragma once
// What the kernels of chunk_pipeline share, and the walk of one of them, inter_chunk. It walks over
// the chunks of a sequence with the state in registers. Idea, grids and bytes: chunk_pipeline.cuh.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "device/products.cuh"
#include "linear_recurrence/params.h"
#include "linear_recurrence/pipeline/layout.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence {

using Ops = device::Products<io_t, tile::terms, dim::key_dim>;
using operand_t = Ops::element;
/// The type of sums of gates. Differences of a chunk's sums matter. With strong gates, float32
/// would lose more of the small differences than terms=3 allows.
using sum_t = device::Choice<tile::terms == 3, double, float>::type;

constexpr int chunk = tile::chunk, block_k = tile::block_k, block_v = tile::block_v;
constexpr PipelineLayout layout{{dim::key_dim, dim::value_dim, sizeof(io_t), sizeof(operand_t),
                                 sizeof(sum_t), chunk, block_k, block_v, tile::stages}};
static_assert(layout.inter_bytes == launch::inter_bytes);
static_assert(layout.intra_bytes == launch::intra_bytes);
static_assert(layout.combine_bytes == launch::combine_bytes);

constexpr int keys = layout.keys, key_ld = layout.key_ld, value_ld = layout.value_ld;
constexpr int tiles_i = chunk / 8, tiles_k = block_k / 8;

/// The regions of the workspace, in the order of the variant's list.
struct Work {
  sum_t* sums;       ///< b [sequences, padded_seq, keys]
  operand_t *q, *k;  ///< q', k' [sequences, padded_seq, keys]
  float* partial;    ///< o' [NK, sequences, padded_seq, V]
  float* scores;     ///< A [NK, sequences, chunks, chunk, chunk]
  long long chunks, padded_seq, sequences;

  __device__ __forceinline__ explicit Work(const LinearRecurrenceParams& p)
      : sums(static_cast<sum_t*>(p.work[0])),
        q(static_cast<operand_t*>(p.work[1])),
        k(static_cast<operand_t*>(p.work[2])),
        partial(static_cast<float*>(p.work[3])),
        scores(static_cast<float*>(p.work[4])),
        chunks((p.seq + chunk - 1) / chunk),
        padded_seq(chunks * chunk),
        sequences(p.batch * p.heads) {}
};

/// What a block of the chunk-parallel kernels works on. `part` is its block of K or V.
struct Place {
  long long sequence, c;
  int part, rows;  ///< rows: tokens of the chunk that exist
  long long row;   ///< of the chunk's first token in the padded workspaces

  __device__ __forceinline__ Place(const LinearRecurrenceParams& p, const Work& w, int parts)
      : sequence(blockIdx.x / parts / w.chunks),
        c(blockIdx.x / parts % w.chunks),
        part(static_cast<int>(blockIdx.x % parts)),
        rows(static_cast<int>(p.seq - c * chunk < chunk ? p.seq - c * chunk : chunk)),
        row(sequence * w.padded_seq + c * chunk) {}
};

__device__ __forceinline__ long long token_offset(const LinearRecurrenceParams& p,
                                                  const TokenStrides& strides, long long sequence,
                                                  long long token) {
  return sequence / p.heads * strides.batch + token * strides.seq +
         sequence % p.heads * strides.heads;
}

/// e^sum, for a sum in units of log2.
__device__ __forceinline__ float decay_of(sum_t sum) {
  return device::exp2_fast(static_cast<float>(sum));
}

__device__ __forceinline__ int lane_row() {
  return threadIdx.x % 32 / 4;
}
__device__ __forceinline__ int lane_column() {
  return threadIdx.x % 4 * 2;
}
__device__ __forceinline__ int warp_first_v() {
  return threadIdx.x / 32 * 16;
}

/// The walk of one block of inter_chunk. A warp holds S^T [16 columns of V, block_k].
struct InterChunk {
  const LinearRecurrenceParams& p;
  const Work& w;
  unsigned char* shared;
  long long sequence;
  int first_k, first_v;

  using State = float[1][tiles_k][4];
  using Output = float[tiles_i][4];

  __device__ __forceinline__ operand_t* operand(long long c, int tile) const {
    return reinterpret_cast<operand_t*>(shared + c % tile::stages * layout.inter_stage +
                                        tile * layout.operand_tile);
  }
  __device__ __forceinline__ io_t* values(long long c) const {
    return reinterpret_cast<io_t*>(operand(c, 2));
  }
  __device__ __forceinline__ sum_t* decays(long long c) const {
    return reinterpret_cast<sum_t*>(shared + c % tile::stages * layout.inter_stage +
                                    2 * layout.operand_tile + layout.value_tile);
  }

  /// Starts the copies of a chunk. The last row of the sums is stored as exponents until it is
  /// used.
  __device__ __forceinline__ void load(long long c) const {
    constexpr int threads = layout.product_threads;
    const long long at = (sequence * w.padded_seq + c * chunk) * keys + first_k;
    const int columns = keys - first_k;
    device::copy_rows_async<threads, chunk, block_k, key_ld, keys>(operand(c, 0), w.q + at, keys,
                                                                   chunk, columns);
    device::copy_rows_async<threads, chunk, block_k, key_ld, keys>(operand(c, 1), w.k + at, keys,
                                                                   chunk, columns);
    const long long left = p.seq - c * chunk;
    device::copy_rows_async<threads, chunk, block_v, value_ld, value_alignment>(
        values(c),
        static_cast<const io_t*>(p.v) + token_offset(p, p.value_strides, sequence, c * chunk) +
            first_v,
        p.value_strides.seq, left < chunk ? static_cast<int>(left) : chunk,
        dim::value_dim - first_v);
    device::copy_rows_async<threads, 1, block_k, block_k, keys>(
        decays(c), w.sums + at + (chunk - 1) * keys, keys, 1, columns);
    device::commit_copies();
  }

  template <typename F>
  __device__ __forceinline__ void for_state(State& state, F f) const {
#pragma unroll
    for (int n = 0; n < tiles_k; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int v = first_v + warp_first_v() + lane_row() + i / 2 * 8;
        const int k = first_k + 8 * n + lane_column() + i % 2;
        const bool exists = v < dim::value_dim && k < dim::key_dim;
        f(state[0][n][i], exists ? static_cast<int>(state_offset(k, v)) : -1);
      }
  }

  /// o'^T = S^T q'^T.
  __device__ __forceinline__ void multiply(long long c, const State& state, Output& out) const {
#pragma unroll
    for (int step = 0; step < block_k / Ops::depth; ++step) {
      const auto a = Ops::from_accumulators(state[0], step);
#pragma unroll
      for (int i = 0; i < tiles_i; i += 2) {
        Ops::B b[2];
        Ops::load_rows(b, operand(c, 0) + i * 8 * key_ld + step * Ops::depth, key_ld);
        Ops::multiply(out[i], a, b[0]);
        Ops::multiply(out[i + 1], a, b[1]);
      }
    }
  }

  /// S^T = S^T diag(e^bn) + v^T k'.
  __device__ __forceinline__ void update(long long c, State& state) const {
#pragma unroll
    for (int n = 0; n < tiles_k; ++n) {
      const sum_t* sum = decays(c) + 8 * n + lane_column();
      const float x = decay_of(sum[0]), y = decay_of(sum[1]);
      state[0][n][0] *= x;
      state[0][n][1] *= y;
      state[0][n][2] *= x;
      state[0][n][3] *= y;
    }
#pragma unroll
    for (int j = 0; j < chunk; j += Ops::depth) {
      const auto v = Ops::load_columns(values(c) + j * value_ld + warp_first_v(), value_ld);
#pragma unroll
      for (int n = 0; n < tiles_k; n += 2) {
        Ops::B b[2];
        Ops::load_columns(b, operand(c, 1) + j * key_ld + 8 * n, key_ld);
        Ops::multiply(state[0][n], v, b[0]);
        Ops::multiply(state[0][n + 1], v, b[1]);
      }
    }
  }

  __device__ __forceinline__ void store(long long c, const Output& out) const {
    const long long part = first_k / block_k * w.sequences + sequence;
    float* to = w.partial + (part * w.padded_seq + c * chunk) * dim::value_dim;
#pragma unroll
    for (int n = 0; n < tiles_i; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int v = first_v + warp_first_v() + lane_row() + i / 2 * 8;
        const int token = 8 * n + lane_column() + i % 2;
        if (v < dim::value_dim) to[token * dim::value_dim + v] = out[n][i];
      }
  }

  __device__ __forceinline__ void run() const {
    const long long state_at = sequence * dim::key_dim * dim::value_dim;
    const float* initial = p.initial_state == nullptr ? nullptr : p.initial_state + state_at;
    State state;
    for_state(state, [initial](float& x, int at) {
      x = initial != nullptr && at >= 0 ? initial[at] : 0.0f;
    });
    load(0);
    for (long long c = 0; c < w.chunks; ++c) {
      if (tile::stages == 1 && c > 0) {
        __syncthreads();
        load(c);
      }
      device::wait_copies<0>();
      __syncthreads();
      if (tile::stages == 2 && c + 1 < w.chunks) load(c + 1);
      Output out = {};
      multiply(c, state, out);
      update(c, state);
      store(c, out);
    }
    if (p.final_state != nullptr) {
      float* final = p.final_state + state_at;
      for_state(state, [final](float& x, int at) {
        if (at >= 0) final[at] = x;
      });
    }
  }
};

}  // namespace gla_bench::linear_recurrence
