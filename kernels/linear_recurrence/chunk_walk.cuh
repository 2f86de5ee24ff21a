#pragma once
// The walk over the chunks of one sequence that the chunked variants share.
//
// Idea: a block owns one (sequence, head) and `block_v` columns of V. Its state S^T [V, K] stays in
// registers as float32 accumulators: a warp owns warp_v columns of V times its share of K. Per
// chunk of C tokens, with b the running sum of the gates inside the chunk and bn its last value:
//   o^T = S^T (q e^b)^T + v^T A^T,  S^T = S^T diag(e^bn) + v^T (k e^(bn-b)),
//   A_ij = sum_k q_ik k_jk e^(b_i-b_j), i >= j.
// S^T in accumulators is already laid out as the A operand of the first product.
//
// No exponent is ever positive but inside a diagonal block of 8 tokens. The scores form a binary
// tree: where i and j lie in sibling blocks of n = 8, 16, 32 tokens, b_i - b_j is i's prefix in its
// block plus j's suffix in its own, so q (in odd blocks) and k (in even ones) times these factors,
// all <= 1, share one tile per level. Inside 8 tokens both refer to the middle; gates are clamped
// at -20, so exponents stay within 80 nats, which bfloat16 and tf32 hold. Factors are products of
// e^g: no long sum loses its small terms.
//
// Shared memory: chunk_walk_layout.h. Phases, each ended by a barrier: chunk in place; decays of
// blocks of 8; operands of all products; scores beside the state's part of o; scores' part of o and
// the new state.

#include "device/async_copy.cuh"
#include "linear_recurrence/chunk_operands.cuh"
#include "linear_recurrence/chunk_products.cuh"
#include "linear_recurrence/params.h"

namespace gla_bench::linear_recurrence {

/// What a block walks over.
struct WalkRange {
  long long sequence;    ///< batch index * heads + head
  int slice;             ///< its columns of V start at slice * block_v
  long long begin, end;  ///< tokens
  const float* initial;  ///< [K, V] state before `begin`, or null: zero
  float* final;          ///< [K, V] state after `end`, or null
  float* decay;          ///< [K] product of the decays, or null; only without outputs
};

template <int chunk, int block_v, int warp_v, int warps_k, int stages, int terms, bool outputs>
struct ChunkWalk {
  using Tiles = WalkTiles<chunk, block_v, warp_v, warps_k, stages, terms, outputs>;
  static constexpr WalkLayout layout = Tiles::layout;
  static constexpr int threads = Tiles::threads, keys = Tiles::keys, key_ld = Tiles::key_ld;
  static constexpr int tiles_v = Tiles::tiles_v, tiles_k = Tiles::tiles_k;

  const LinearRecurrenceParams& p;
  const WalkRange& range;
  const Tiles tiles;

  __device__ __forceinline__ void run() const {
    const OperandPhase<Tiles> operands{tiles};
    const ProductPhase<Tiles> products{tiles};
    typename Tiles::State state;
    clear_padding();
    load_state(state);
    const long long chunks = (range.end - range.begin + chunk - 1) / chunk;
    load_chunk(0);
    for (long long c = 0; c < chunks; ++c) {
      if (stages == 1 && c > 0) {
        __syncthreads();
        load_chunk(c);
        if (outputs) store_outputs(c - 1);
      }
      device::wait_copies<0>();
      __syncthreads();
      if (stages == 2 && c + 1 < chunks) load_chunk(c + 1);
      if (stages == 2 && outputs && c > 0) store_outputs(c - 1);
      operands.sum_gates(c);
      __syncthreads();
      operands.form_operands(c);
      __syncthreads();
      if constexpr (outputs) {
        products.form_scores(c);
        typename Tiles::Output out = {};
        products.multiply_state(c, state, out);
        __syncthreads();
        products.decay_state(state);
        products.add_chunk(c, state, out);
        products.store_partial(out);
      } else {
        products.decay_state(state);
        products.add_chunk(c, state);
      }
    }
    __syncthreads();
    if (outputs && chunks > 0) store_outputs(chunks - 1);
    store_state(state);
  }

 private:
  __device__ __forceinline__ long long batch_index() const { return range.sequence / p.heads; }
  __device__ __forceinline__ long long head_index() const { return range.sequence % p.heads; }
  __device__ __forceinline__ long long offset(const TokenStrides& strides, long long token) const {
    return batch_index() * strides.batch + token * strides.seq + head_index() * strides.heads;
  }
  __device__ __forceinline__ int first_v() const { return range.slice * block_v; }
  __device__ __forceinline__ long long first_token(long long c) const {
    return range.begin + c * chunk;
  }
  __device__ __forceinline__ int valid_tokens(long long c) const {
    const long long left = range.end - first_token(c);
    return left < chunk ? static_cast<int>(left) : chunk;
  }

  /// Padding columns of the stages are zero once and for all: in place, zeros become zeros.
  __device__ __forceinline__ void clear_padding() const {
    for (int i = threadIdx.x; i < stages * Tiles::stage_bytes / 16; i += threads)
      reinterpret_cast<uint4*>(tiles.shared)[i] = make_uint4(0, 0, 0, 0);
    if constexpr (!outputs)
      for (int k = threadIdx.x; k < keys; k += threads) tiles.total_decay()[k] = 1.0f;
    __syncthreads();
  }

  /// Starts the copies of chunk c; rows past the range become zeros: tokens that change nothing.
  __device__ __forceinline__ void load_chunk(long long c) const {
    const long long token = first_token(c), key = offset(p.key_strides, token);
    const int rows = valid_tokens(c);
    copy_keys(tiles.k_tile(c), static_cast<const io_t*>(p.k) + key, rows);
    copy_keys(tiles.g_tile(c), static_cast<const io_t*>(p.g) + key, rows);
    if constexpr (outputs) copy_keys(tiles.q_tile(c), static_cast<const io_t*>(p.q) + key, rows);
    device::copy_rows_async<threads, chunk, block_v, Tiles::value_ld, dim::value_dim>(
        tiles.v_tile(c), static_cast<const io_t*>(p.v) + offset(p.value_strides, token) + first_v(),
        p.value_strides.seq, rows, dim::value_dim - first_v());
    device::commit_copies();
  }

  __device__ __forceinline__ void copy_keys(io_t* target, const io_t* source, int rows) const {
    device::copy_rows_async<threads, chunk, dim::key_dim, key_ld, dim::key_dim>(
        target, source, p.key_strides.seq, rows, dim::key_dim);
  }

  /// Calls f(accumulator, offset from this lane's first element of a [K, V] state) for every
  /// element that exists. Offsets are constants, so that none occupies a register during the walk.
  template <typename F>
  __device__ __forceinline__ void for_state(typename Tiles::State& state, F f) const {
    const int first_value = lane_v(), first_key = lane_k();
#pragma unroll
    for (int m = 0; m < tiles_v; ++m)
#pragma unroll
      for (int n = 0; n < tiles_k; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int v = 16 * m + i / 2 * 8, k = 8 * n + i % 2;
          const bool exists = (dim::value_dim % block_v == 0 || first_value + v < dim::value_dim) &&
                              (dim::key_dim == keys || first_key + k < dim::key_dim);
          f(state[m][n][i], exists, k * dim::value_dim + v);
        }
  }
  __device__ __forceinline__ int lane_v() const {
    return first_v() + tiles.warp_first_v() + tiles.lane_row();
  }
  __device__ __forceinline__ int lane_k() const {
    return tiles.warp_first_k() + tiles.lane_column();
  }
  __device__ __forceinline__ int lane_offset() const {
    return lane_k() * dim::value_dim + lane_v();
  }

  __device__ __forceinline__ void load_state(typename Tiles::State& state) const {
    const float* from = range.initial == nullptr ? nullptr : range.initial + lane_offset();
    for_state(state, [from](float& x, bool exists, int at) {
      x = from != nullptr && exists ? from[at] : 0.0f;
    });
  }

  __device__ __forceinline__ void store_state(typename Tiles::State& state) const {
    if (range.final != nullptr) {
      float* to = range.final + lane_offset();
      for_state(state, [to](float& x, bool exists, int at) {
        if (exists) to[at] = x;
      });
    }
    if constexpr (!outputs)
      if (range.decay != nullptr)
        for (int k = threadIdx.x; k < dim::key_dim; k += threads)
          range.decay[k] = tiles.total_decay()[k];
  }

  /// Sums the warps' partial outputs of chunk c, scales and writes them, neighbouring threads side
  /// by side.
  __device__ __forceinline__ void store_outputs(long long c) const {
    constexpr int io_bytes = sizeof(io_t);
    constexpr int width = device::widest_access(dim::value_dim * io_bytes) / io_bytes;
    constexpr int per_row = block_v / width;
    io_t* o = static_cast<io_t*>(p.o) + offset(p.value_strides, first_token(c)) + first_v();
    const int rows = valid_tokens(c);
#pragma unroll 2
    for (int i = threadIdx.x; i < chunk * per_row; i += threads) {
      const int row = i / per_row, column = i % per_row * width;
      if (row >= rows || column >= dim::value_dim - first_v()) continue;
      float sum[width] = {};
#pragma unroll
      for (int w = 0; w < warps_k; ++w) {
        const float* from = tiles.partial() + (w * chunk + row) * Tiles::partial_ld + column;
        const auto part =
            *reinterpret_cast < const device::Pack<float, width<4 ? width : 4>*>(from);
#pragma unroll
        for (int j = 0; j < width; ++j)
          if (j < 4) sum[j] += part.value[j % 4];
        if constexpr (width == 8) {
          const auto rest = *reinterpret_cast<const device::Pack<float, 4>*>(from + 4);
#pragma unroll
          for (int j = 0; j < 4; ++j) sum[4 + j] += rest.value[j];
        }
      }
      device::Pack<io_t, width> packed;
#pragma unroll
      for (int j = 0; j < width; ++j) packed.value[j] = device::from_float<io_t>(p.scale * sum[j]);
      *reinterpret_cast<device::Pack<io_t, width>*>(o + row * p.value_strides.seq + column) =
          packed;
    }
  }
};

}  // namespace gla_bench::linear_recurrence
