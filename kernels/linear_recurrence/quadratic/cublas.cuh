#pragma once
// parallel_cublas: the quadratic form, with its matrix products done by cuBLAS. This file has what
// the products need and what cuBLAS cannot do.
//
// Idea: a sequence is a binary tree over 2^n leaves. At the level with halves of L tokens, take a
// query in a right half and a key in the left half beside it. They are linked by q e^(prefix from
// the middle) times k e^(suffix to the middle), and both decays are <= 1. One strided batched
// product per level therefore fills the L x L blocks of scores of all pairs. A token is in a right
// or in a left half, so a level needs one [T, K] operand, not two. The leaves' own scores come from
// the tensor cores in this file (diagonal_scores.cuh). O = P V is a few products over bands of
// rows, into float32. States also enter and leave by products.
//
// Scalar decays, or none: there is no tree. The scores are one product over bands of rows, and a
// kernel gives each score its decay (cublas_plain.cuh).
//
// Normalized outputs: an output is divided by its row's sum of scores. A column of ones beside v
// gives this sum.
//
// Precision: in a row of few scores, the rounding of one of them is the row's own error. bfloat16
// sequences of one leaf therefore keep operands, scores and values in float32, and their products
// are in tf32. With more tokens the scores' errors average out.
//
// Workspace, head-first, for N sequences:
//   gates       sums per leaf [N, leaves, key_ld] in float32; scalar: per token [N, T] in double;
//               none: no region
//   operands    [levels (+1), N, padded, key_ld]; without a tree q, k (and k's decay to the end)
//   scores      [N, padded (padded + 1)]
//   outputs     [N, T, value_ld] float32
//   from start  with an initial state: q e^(prefix) [N, T, key_ld] float32
//   values      [N, T, value_ld], unless v can serve as it is
//
// Grids: y is the leaf (gridDim.y, the number of leaves, decides the tree), x the sequence, z the
// operand.
//
// Bytes: q, k, g once per level, T^2 scores written and read.

#include "device/products.cuh"
#include "linear_recurrence/chunk/diagonal_scores.cuh"
#include "linear_recurrence/quadratic/cublas_plain.cuh"

namespace gla_bench::linear_recurrence::parallel_cublas {

/// gates: writes the sum of each leaf's gates.
__device__ __forceinline__ void sum_gates(const Leaf& leaf) {
  const gate_t* g = leaf.key_gates_of();
  const int rows = leaf.valid();
  for (int key = threadIdx.x; key < key_dim; key += layout.row_threads) {
    float sum = 0.0f;
#pragma unroll 4
    for (int t = 0; t < rows; ++t)
      sum += device::log2_gate(log_decay(device::to_float(g[t * leaf.gate_stride() + key])));
    leaf.gates(leaf.index)[key] = sum;
  }
}

/// Where the output comes before the update, q's decays leave out the token's own gate.
constexpr bool before_own = trait::before_update != 0;

/// Writes rows of `from` times their decay from the leaf's start (rising) or to its end, and times
/// `before`. Rows beyond the sequence become zero.
template <bool rising, typename Out>
__device__ __forceinline__ void write_decayed(const Leaf& leaf, const void* from, float before,
                                              int key, Out* out, int rows) {
  const io_t* x = leaf.tensor(from, leaf.p.key_strides) + key;
  const gate_t* g = leaf.key_gates_of() + key;
  const int valid = leaf.valid();
  float sum = 0.0f;
#pragma unroll 4
  for (int i = 0; i < valid; ++i) {
    const int t = rising ? i : valid - 1 - i;
    const long long at = t * leaf.p.key_strides.seq;
    const long long gate_at = trait::packed_inputs != 0 ? t * leaf.gate_stride() : at;
    const float gate = device::log2_gate(log_decay(device::to_float(g[gate_at])));
    if (rising && !before_own) sum += gate;
    out[static_cast<long long>(t) * key_ld] =
        device::from_float<Out>(device::to_float(x[at]) * (before * device::exp2_fast(sum)));
    if (!rising || before_own) sum += gate;
  }
  for (int t = valid; t < rows; ++t)
    out[static_cast<long long>(t) * key_ld] = device::from_float<Out>(0.0f);
}

/// Forms operand blockIdx.z. The first ones are the levels of the tree. Then comes k with its decay
/// to the end of the sequence, where a final state is asked for. Last comes q with its decay from
/// the start, where there is an initial state.
__device__ __forceinline__ void form_operand(const Leaf& leaf) {
  const LinearRecurrenceParams& p = leaf.p;
  const int levels = 31 - __clz(static_cast<int>(gridDim.y)), slot = blockIdx.z;
  const bool to_end = slot == levels && p.final_state != nullptr;
  const bool from_start = slot >= levels && !to_end;
  const long long rows = leaf.sequence * leaf.tree.padded + leaf.first();
  const long long all = static_cast<long long>(gridDim.x) * leaf.tree.padded;
  work_t* out = static_cast<work_t*>(p.work[operands_region]) + (slot * all + rows) * key_ld;
  const long long half = leaf.index >> slot;  // not used beyond the levels
  for (int key = threadIdx.x; key < key_dim; key += layout.row_threads) {
    if (from_start) {
      float* start = static_cast<float*>(p.work[from_start_region]);
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

/// Forms the scores of a leaf with itself, scaled, with zeros above the diagonal.
__device__ __forceinline__ void score_leaf(const Leaf& leaf, unsigned char* shared) {
  using Ops = device::Tf32Products<::product::terms>;
  using Diagonal = DiagonalScores<Ops, block, layout.chunk, layout.tile_ld>;
  constexpr int threads = layout.score_threads;
  const auto raw = [&](int n) { return reinterpret_cast<io_t*>(shared + n * layout.raw_tile); };
  gate_t* gates = reinterpret_cast<gate_t*>(shared + layout.raw_gates);
  const auto operand = [&](int n) {
    return reinterpret_cast<float*>(shared + layout.operands + n * layout.operand_tile);
  };
  float* sums = reinterpret_cast<float*>(shared + layout.sums);
  const LinearRecurrenceParams& p = leaf.p;
  Diagonal::Scores scores = {};
  float own = 0.0f;
  for (int c = 0; c < layout.chunks; ++c) {
    const void* sources[2] = {p.q, p.k};
#pragma unroll
    for (int n = 0; n < 2; ++n)
      device::copy_rows_async<threads, block, layout.chunk, layout.tile_ld, key_alignment>(
          raw(n), leaf.tensor(sources[n], p.key_strides) + c * layout.chunk, p.key_strides.seq,
          leaf.valid(), key_dim - c * layout.chunk);
    device::copy_rows_async<threads, block, layout.chunk, layout.tile_ld, key_dim>(
        gates, leaf.key_gates_of() + c * layout.chunk, leaf.gate_stride(), leaf.valid(),
        key_dim - c * layout.chunk);
    device::commit_copies();
    device::wait_copies<0>();
    __syncthreads();
    Diagonal::Gates::template sum<threads>(gates, sums);
    if constexpr (before_own)
      own += Diagonal::own_score(
          raw(0), raw(1),
          static_cast<const io_t*>(p.u) + leaf.sequence % p.heads * key_dim + c * layout.chunk,
          key_dim - c * layout.chunk);
    __syncthreads();
    Diagonal::add(scores, raw(0), raw(1), gates, sums, operand(0), operand(1));
  }
  if constexpr (before_own) {
    float* rows = reinterpret_cast<float*>(shared + layout.rows);
    Diagonal::store_own(own, rows);
    __syncthreads();
    Diagonal::keep_lower(scores, rows);
  } else {
    Diagonal::keep_lower(scores);
  }
  const int row = Diagonal::warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  const long long size = leaf.tree.padded, length = leaf.tree.leaf;
  work_t* out = static_cast<work_t*>(p.work[scores_region]) +
                leaf.sequence * leaf.tree.score_stride + leaf.first() * (size + 1);
#pragma unroll
  for (int n = 0; n < Diagonal::tiles; ++n)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = row + 8 * half, j = 8 * n + column;
      // both the length and j are even, so both elements exist or none does
      if (i < length && j < length)
        device::store_pair(out + i * size + j, p.scale * scores[n][2 * half],
                           p.scale * scores[n][2 * half + 1]);
    }
}

}  // namespace gla_bench::linear_recurrence::parallel_cublas

// The second argument of __launch_bounds__ sets a minimum number of blocks. Without it the compiler
// spills registers to fit more blocks than are needed.
extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel_cublas::layout.row_threads, 8)
    gla_sum_gates(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  if constexpr (key_gates) sum_gates(Leaf(p));
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel_cublas::layout.row_threads, 8)
    gla_form_operands(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  if constexpr (key_gates)
    form_operand(Leaf(p));
  else
    form_plain(Leaf(p));
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::parallel_cublas::layout.score_threads, 1)
    gla_score_leaves(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  extern __shared__ __align__(16) unsigned char shared[];
  if constexpr (key_gates) score_leaf(Leaf(p), shared);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::CublasLayout::scan_threads, 1)
    gla_scan_gates(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  if constexpr (gla_bench::linear_recurrence::scalar_decay) scan_gates(p);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::CublasLayout::scan_threads, 1)
    gla_sum_keys(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  if constexpr (normalized) sum_keys(p);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::CublasLayout::decay_threads, 4)
    gla_decay_scores(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  using namespace gla_bench::linear_recurrence::parallel_cublas;
  if constexpr (!key_gates) decay_scores(p);
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
