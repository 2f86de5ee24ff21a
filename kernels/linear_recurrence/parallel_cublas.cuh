#pragma once
// parallel_cublas: the quadratic form with its products through cuBLAS; what they need, and what
// they can not do, is here.
//
// A sequence is a binary tree over 2^n leaves. At the level with halves of L tokens, a query in a
// right half and a key in the left half beside it are linked by q e^(prefix from the middle) times
// k e^(suffix to the middle), both factors <= 1: one strided batched product per level fills the
// L x L blocks of scores of all pairs. A token is in a right or in a left half, so a level needs
// one [T, K] operand, not two. The leaves' own scores come from the tensor cores here
// (diagonal_scores.cuh). O = P V is a few products over bands of rows, into float32; states enter
// and leave by products, too.
//
// Workspace, head-first: 0 gates [N, leaves, key_ld] sums per leaf, float32; 1 operands [levels
// (+1), N, padded, key_ld]; 2 scores [N, padded (padded + 1)]; 3 outputs [N, T, value_ld] float32;
// with an initial state: q e^(prefix) [N, T, key_ld] float32; unless v can serve as it is: values
// [N, T, value_ld]. N: sequences. Grids: y is the leaf (gridDim.y of them decides the tree), x the
// sequence, z the operand. Bytes: q, k, g once per level, 2 T^2 scores written and read.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "device/products.cuh"
#include "linear_recurrence/diagonal_scores.cuh"
#include "linear_recurrence/parallel_cublas_layout.h"
#include "linear_recurrence/params.h"

namespace gla_bench::linear_recurrence::parallel_cublas {

constexpr int key_dim = dim::key_dim, value_dim = dim::value_dim, block = tile::leaf;
constexpr CublasLayout layout{key_dim, value_dim, sizeof(io_t), block};
constexpr int key_ld = layout.key_ld, value_ld = layout.value_ld;

/// This block's sequence and leaf.
struct Leaf {
  const LinearRecurrenceParams& p;
  CublasTree tree;
  long long sequence, index;

  __device__ __forceinline__ explicit Leaf(const LinearRecurrenceParams& params)
      : p(params), tree{params.seq, gridDim.y}, sequence(blockIdx.x), index(blockIdx.y) {}

  __device__ __forceinline__ long long first() const { return index * tree.leaf; }
  __device__ __forceinline__ int valid() const {
    const long long left = p.seq - first();
    return left <= 0 ? 0 : left < tree.leaf ? static_cast<int>(left) : static_cast<int>(tree.leaf);
  }
  /// Offset of the leaf's first token in a tensor.
  __device__ __forceinline__ long long offset(const TokenStrides& strides) const {
    return sequence / p.heads * strides.batch + sequence % p.heads * strides.heads +
           first() * strides.seq;
  }
  __device__ __forceinline__ const io_t* tensor(const void* data,
                                                const TokenStrides& strides) const {
    return static_cast<const io_t*>(data) + offset(strides);
  }
  __device__ __forceinline__ float* gates(long long leaf) const {
    return static_cast<float*>(p.work[0]) + (sequence * tree.leaves + leaf) * key_ld;
  }
  /// Sum of the gates of leaves first..last-1, in units of log2.
  __device__ __forceinline__ float total(long long from, long long to, int key) const {
    float sum = 0.0f;
#pragma unroll 4
    for (long long leaf = from; leaf < to; ++leaf) sum += gates(leaf)[key];
    return sum;
  }
};

/// gates: the sum of each leaf's gates.
__device__ __forceinline__ void sum_gates(const Leaf& leaf) {
  const io_t* g = leaf.tensor(leaf.p.g, leaf.p.key_strides);
  const int rows = leaf.valid();
  for (int key = threadIdx.x; key < key_dim; key += layout.row_threads) {
    float sum = 0.0f;
#pragma unroll 4
    for (int t = 0; t < rows; ++t)
      sum += device::log2_gate(device::to_float(g[t * leaf.p.key_strides.seq + key]));
    leaf.gates(leaf.index)[key] = sum;
  }
}

/// Rows of `from` times their decay from the leaf's start (rising) or to its end, and times
/// `before`. Rows beyond the sequence become zero.
template <bool rising, typename Out>
__device__ __forceinline__ void write_decayed(const Leaf& leaf, const void* from, float before,
                                              int key, Out* out, int rows) {
  const io_t* x = leaf.tensor(from, leaf.p.key_strides) + key;
  const io_t* g = leaf.tensor(leaf.p.g, leaf.p.key_strides) + key;
  const int valid = leaf.valid();
  float sum = 0.0f;
#pragma unroll 4
  for (int i = 0; i < valid; ++i) {
    const int t = rising ? i : valid - 1 - i;
    const long long at = t * leaf.p.key_strides.seq;
    const float gate = device::log2_gate(device::to_float(g[at]));
    if (rising) sum += gate;
    out[static_cast<long long>(t) * key_ld] =
        device::from_float<Out>(device::to_float(x[at]) * (before * device::exp2_fast(sum)));
    if (!rising) sum += gate;
  }
  for (int t = valid; t < rows; ++t)
    out[static_cast<long long>(t) * key_ld] = device::from_float<Out>(0.0f);
}

/// Operand blockIdx.z: a level of the tree; then k's decay to the end of the sequence where a final
/// state is asked for; then q's from its start where there is an initial state.
__device__ __forceinline__ void form_operand(const Leaf& leaf) {
  const LinearRecurrenceParams& p = leaf.p;
  const int levels = 31 - __clz(static_cast<int>(gridDim.y)), slot = blockIdx.z;
  const bool to_end = slot == levels && p.final_state != nullptr;
  const bool from_start = slot >= levels && !to_end;
  const long long rows = leaf.sequence * leaf.tree.padded + leaf.first();
  const long long all = static_cast<long long>(gridDim.x) * leaf.tree.padded;
  io_t* out = static_cast<io_t*>(p.work[1]) + (slot * all + rows) * key_ld;
  const long long half = leaf.index >> slot;  // not used beyond the levels
  for (int key = threadIdx.x; key < key_dim; key += layout.row_threads) {
    if (from_start) {
      float* start = static_cast<float*>(p.work[4]);
      const float before = device::exp2_fast(leaf.total(0, leaf.index, key));
      write_decayed<true>(leaf, p.q, before, key,
                          start + (leaf.sequence * p.seq + leaf.first()) * key_ld + key,
                          leaf.valid());
    } else if (!to_end && (half & 1) != 0) {
      const float before = device::exp2_fast(leaf.total(half << slot, leaf.index, key));
      write_decayed<true>(leaf, p.q, before, key, out + key, static_cast<int>(leaf.tree.leaf));
    } else {
      const long long end = to_end ? leaf.tree.leaves : (half + 1) << slot;
      const float after = device::exp2_fast(leaf.total(leaf.index + 1, end, key));
      write_decayed<false>(leaf, p.k, after, key, out + key, static_cast<int>(leaf.tree.leaf));
    }
  }
}

/// Scores of a leaf with itself, scaled; zero above the diagonal.
__device__ __forceinline__ void score_leaf(const Leaf& leaf, unsigned char* shared) {
  using Ops = device::Tf32Products<::product::terms>;
  using Diagonal = DiagonalScores<Ops, block, layout.chunk, layout.tile_ld>;
  constexpr int threads = layout.score_threads;
  const auto raw = [&](int n) { return reinterpret_cast<io_t*>(shared + n * layout.raw_tile); };
  const auto operand = [&](int n) {
    return reinterpret_cast<float*>(shared + layout.operands + n * layout.operand_tile);
  };
  float* sums = reinterpret_cast<float*>(shared + layout.sums);
  const LinearRecurrenceParams& p = leaf.p;
  Diagonal::Scores scores = {};
  for (int c = 0; c < layout.chunks; ++c) {
    const void* sources[3] = {p.q, p.k, p.g};
#pragma unroll
    for (int n = 0; n < 3; ++n)
      device::copy_rows_async<threads, block, layout.chunk, layout.tile_ld, key_dim>(
          raw(n), leaf.tensor(sources[n], p.key_strides) + c * layout.chunk, p.key_strides.seq,
          leaf.valid(), key_dim - c * layout.chunk);
    device::commit_copies();
    device::wait_copies<0>();
    __syncthreads();
    Diagonal::Gates::template sum<threads>(raw(2), sums);
    __syncthreads();
    Diagonal::add(scores, raw(0), raw(1), raw(2), sums, operand(0), operand(1));
  }
  Diagonal::keep_lower(scores);
  const int row = Diagonal::warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  const long long size = leaf.tree.padded, length = leaf.tree.leaf;
  io_t* out = static_cast<io_t*>(p.work[2]) + leaf.sequence * leaf.tree.score_stride +
              leaf.first() * (size + 1);
#pragma unroll
  for (int n = 0; n < Diagonal::tiles; ++n)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = row + 8 * half, j = 8 * n + column;
      if (i < length && j < length)  // j is even and the length is: both or none
        device::store_pair(out + i * size + j, p.scale * scores[n][2 * half],
                           p.scale * scores[n][2 * half + 1]);
    }
}

/// v head-first, rows value_ld apart.
__device__ __forceinline__ void copy_values(const Leaf& leaf) {
  const LinearRecurrenceParams& p = leaf.p;
  const io_t* v = leaf.tensor(p.v, p.value_strides);
  io_t* out = static_cast<io_t*>(p.work[p.initial_state != nullptr ? 5 : 4]) +
              (leaf.sequence * p.seq + leaf.first()) * value_ld;
  const int rows = leaf.valid();
  for (int t = 0; t < rows; ++t)
    for (int column = threadIdx.x; column < value_dim; column += layout.value_threads, 8)
      out[static_cast<long long>(t) * value_ld + column] = v[t * p.value_strides.seq + column];
}

/// o from the float32 outputs, rounded once.
__device__ __forceinline__ void round_outputs(const Leaf& leaf) {
  const LinearRecurrenceParams& p = leaf.p;
  io_t* o = static_cast<io_t*>(p.o) + leaf.offset(p.value_strides);
  const float* in =
      static_cast<const float*>(p.work[3]) + (leaf.sequence * p.seq + leaf.first()) * value_ld;
  const int rows = leaf.valid();
#pragma unroll 2
  for (int t = 0; t < rows; ++t)
    for (int column = threadIdx.x; column < value_dim; column += layout.value_threads, 8)
      o[t * p.value_strides.seq + column] =
          device::from_float<io_t>(in[static_cast<long long>(t) * value_ld + column]);
}

/// What the initial state leaves in the final state, before a product adds the rest: block y = leaf
/// takes its share of the keys.
__device__ __forceinline__ void carry_state(const Leaf& leaf) {
  const LinearRecurrenceParams& p = leaf.p;
  const long long matrix = leaf.sequence * key_dim * value_dim;
  for (long long key = leaf.index; key < key_dim; key += leaf.tree.leaves) {
    const float decay = device::exp2_fast(leaf.total(0, leaf.tree.leaves, static_cast<int>(key)));
    for (int column = threadIdx.x; column < value_dim; column += layout.value_threads) {
      const long long at = matrix + key * value_dim + column;
      p.final_state[at] = decay * p.initial_state[at];
    }
  }
}

}  // namespace gla_bench::linear_recurrence::parallel_cublas

// A second launch bound everywhere: without one the compiler spills to fit more blocks than it
// need.
extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel_cublas::layout.row_threads, 8)
    gla_sum_gates(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  sum_gates(Leaf(p));
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel_cublas::layout.row_threads, 8)
    gla_form_operands(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  form_operand(Leaf(p));
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel_cublas::layout.score_threads, 1)
    gla_score_leaves(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  extern __shared__ __align__(16) unsigned char shared[];
  score_leaf(Leaf(p), shared);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel_cublas::layout.value_threads, 8)
    gla_copy_values(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  copy_values(Leaf(p));
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel_cublas::layout.value_threads, 8)
    gla_carry_state(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  carry_state(Leaf(p));
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel_cublas::layout.value_threads, 8)
    gla_round_outputs(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  round_outputs(Leaf(p));
}
