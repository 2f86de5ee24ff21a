#pragma once
// What the two kernels of the fused quadratic form share: their constants, one sequence's tensors,
// the layout of shared memory, copies of blocks of tokens, and the decays that grow along a walk.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "device/products.cuh"
#include "linear_recurrence/chunk/gate_blocks.cuh"
#include "linear_recurrence/quadratic/layout.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence::parallel {

using Ops = device::Products<io_t, tile::terms, dim::key_dim>;
using operand_t = Ops::element;

constexpr int key_dim = dim::key_dim, value_dim = dim::value_dim;
constexpr int block = tile::block, block_v = tile::block_v;
constexpr bool key_gates = trait::decay == key_decay, bonus = trait::before_update != 0;
constexpr bool normalized = trait::normalize != 0;
static_assert(key_gates || !bonus, "the bonus goes with a gate per key");
static_assert(!key_gates || trait::elu_features == 0, "features go with scalar decays");
static_assert(trait::decay == no_decay || !normalized, "a normalizer that decays is not written");
/// Whether raw rows of q and k can be the operands of a product as they are.
constexpr bool raw_rows = !key_gates && trait::elu_features == 0 &&
                          device::is_same<io_t, operand_t> &&
                          (sizeof(io_t) == 2 || tile::terms == 3);
constexpr ParallelLayout layout{
    key_dim,       value_dim, sizeof(io_t), sizeof(gate_t), sizeof(operand_t),   block,
    tile::block_k, block_v,   key_gates,    scalar_decay,   bonus || normalized, !raw_rows};
constexpr int chunk = layout.chunk, chunks = layout.chunks, keys = layout.keys;
constexpr int key_ld = layout.key_ld, query_ld = layout.query_ld, value_ld = layout.value_ld;
constexpr int slices = (value_dim + block_v - 1) / block_v;

using Gates = GateBlocks<block, chunk, key_ld>;

/// One sequence's tensors. v and o point to the first column of the slice.
struct Sequence {
  const io_t *q, *k, *v, *u;
  const gate_t* g;
  io_t* o;
  const state_t* initial;
  state_t* final;
  long long number, key_stride, value_stride, gate_stride, output_stride, tokens;
  float decay;  // log decay of every token, where it is one constant
  int first_v;

  __device__ __forceinline__ Sequence(const LinearRecurrenceParams& p, long long sequence,
                                      int slice)
      : number(sequence), first_v(slice * block_v) {
    const long long n = sequence / p.heads, h = sequence % p.heads;
    const long long matrix = sequence * key_dim * value_dim;
    const Span span = span_of(p, n);
    const auto at = [&](const TokenStrides& strides) {
      return (trait::ragged != 0 ? 0 : n * strides.batch) + h * strides.heads +
             span.first * strides.seq;
    };
    q = static_cast<const io_t*>(p.q) + at(p.key_strides);
    k = static_cast<const io_t*>(p.k) + at(p.key_strides);
    g = static_cast<const gate_t*>(p.g) + at(key_gates ? key_gate_strides(p) : p.gate_strides);
    v = static_cast<const io_t*>(p.v) + at(p.value_strides) + first_v;
    o = static_cast<io_t*>(p.o) + at(output_strides(p)) + first_v;
    u = static_cast<const io_t*>(p.u) + h * key_dim;
    initial = p.initial_state == nullptr
                  ? nullptr
                  : reinterpret_cast<const state_t*>(p.initial_state) + matrix;
    final = reinterpret_cast<state_t*>(p.final_state) + matrix;
    key_stride = p.key_strides.seq;
    value_stride = p.value_strides.seq;
    gate_stride = key_gates ? key_gate_strides(p).seq : p.gate_strides.seq;
    output_stride = output_strides(p).seq;
    tokens = span.tokens;
    decay = trait::decay == head_decay ? p.log_decay[h] : 0.0f;
  }

  __device__ __forceinline__ int rows(long long j) const {
    const long long left = tokens - j * block;
    return left < block ? static_cast<int>(left) : block;
  }
};

/// A query block: its sequence, and its number there. Where sequences are ragged, the number may
/// lie beyond the end.
struct Place {
  long long sequence, block;
};

/// Numbers the query blocks so that the longest walks come first. With ragged sequences, a head's
/// sequences share seq / block + N places, and sequence n begins at place cu_seqlens[n] / block +
/// n. That leaves each sequence at least as many places as it has blocks.
__device__ __forceinline__ Place place_of(const LinearRecurrenceParams& p, long long task) {
  if constexpr (trait::ragged != 0) {
    const long long places = p.seq / block + p.sequences, place = places - 1 - task % places;
    long long n = 0, end = p.sequences;  // the last sequence that starts at or before the place
    while (end - n > 1) {
      const long long middle = (n + end) / 2;
      (p.cu_seqlens[middle] / block + middle <= place ? n : end) = middle;
    }
    return {n * p.heads + task / places, place - p.cu_seqlens[n] / block - n};
  } else {
    const long long blocks = (p.seq + block - 1) / block;
    return {task / blocks, blocks - 1 - task % blocks};
  }
}

/// Addresses within shared memory.
struct Shared {
  unsigned char* base;

  __device__ __forceinline__ io_t* keys_of(int stage) const {
    return reinterpret_cast<io_t*>(base + stage * layout.stage);
  }
  __device__ __forceinline__ gate_t* gates_of(int stage) const {
    return reinterpret_cast<gate_t*>(base + stage * layout.stage + layout.key_tile);
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
  /// Sums of the scalar gates, in units of log2, up to and including each token of the query block.
  __device__ __forceinline__ double* prefixes() const {
    return reinterpret_cast<double*>(base + layout.prefixes);
  }
  /// Decays of a block's tokens to the end of the block, followed by the decay of the whole block.
  __device__ __forceinline__ float* factors(int stage) const {
    return reinterpret_cast<float*>(base + layout.factors) + stage * (block + 4);
  }
  __device__ __forceinline__ float* rows() const {
    return reinterpret_cast<float*>(base + layout.rows);
  }
  __device__ __forceinline__ operand_t* operand(int n) const {
    return reinterpret_cast<operand_t*>(base + layout.operand + n * layout.operand_tile);
  }
  __device__ __forceinline__ operand_t* queries() const {
    return reinterpret_cast<operand_t*>(base + layout.queries);
  }
};

/// Loads rows of q or k, and of gates per key.
template <int threads>
__device__ __forceinline__ void load_keys(io_t* target, const io_t* source, const Sequence& s,
                                          long long j, int c) {
  device::copy_rows_async<threads, block, chunk, key_ld, key_alignment>(
      target, source + j * block * s.key_stride + c * chunk, s.key_stride, s.rows(j),
      key_dim - c * chunk);
}
template <int threads>
__device__ __forceinline__ void load_gates(gate_t* target, const Sequence& s, long long j, int c) {
  device::copy_rows_async<threads, block, chunk, key_ld, key_dim>(
      target, s.g + j * block * s.gate_stride + c * chunk, s.gate_stride, s.rows(j),
      key_dim - c * chunk);
}

template <int threads>
__device__ __forceinline__ void load_values(io_t* target, const Sequence& s, long long j) {
  device::copy_rows_async<threads, block, block_v, value_ld, value_alignment>(
      target, s.v + j * block * s.value_stride, s.value_stride, s.rows(j), value_dim - s.first_v);
}

/// Multiplies the running decays of a chunk of keys by those of the block whose sums lie in shared
/// memory. Returns true where one of this thread's decays stays above zero.
template <int threads>
__device__ __forceinline__ bool extend_decays(const Shared& shared, float* decays, int valid) {
  bool alive = false;
  for (int k = threadIdx.x; k < chunk; k += threads) {
    float sum = 0.0f;
#pragma unroll
    for (int b = 0; b < block / 8; ++b) sum += shared.sums()[b * chunk + k];
    decays[k] *= device::exp2_fast(sum);
    alive |= k < valid && decays[k] != 0.0f;
  }
  return alive;
}

__device__ __forceinline__ int warp_row() {
  return static_cast<int>(threadIdx.x) / 32 * 16;
}

}  // namespace gla_bench::linear_recurrence::parallel
