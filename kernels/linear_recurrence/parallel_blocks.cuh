#pragma once
// What the two kernels of the fused quadratic form share: their constants, one sequence's tensors,
// places in shared memory, copies of blocks of tokens, and the decays that grow along a walk.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "device/products.cuh"
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

}  // namespace gla_bench::linear_recurrence::parallel
