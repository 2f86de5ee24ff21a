#pragma once
// What the kernels around cuBLAS's products share: constants, the place of a leaf of the tree, and
// the treatment of values, outputs and states, which is the same for all members of the family.

#include "device/async_copy.cuh"
#include "device/math.cuh"
#include "linear_recurrence/quadratic/cublas_layout.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence::parallel_cublas {

constexpr int key_dim = dim::key_dim, value_dim = dim::value_dim, block = tile::leaf;
constexpr bool key_gates = trait::decay == key_decay, normalized = trait::normalize != 0;
/// The type of operands, scores and values in the workspace (workspace_dtype() on the host).
using work_t = device::Choice<(::product::wide != 0), float, io_t>::type;
static_assert(trait::state_bytes == 4, "cuBLAS writes the states, in float32");
static_assert(trait::ragged == 0, "cuBLAS's batches have one length");
static_assert(key_gates || trait::before_update == 0, "the bonus goes with a gate per key");
static_assert(trait::decay == no_decay || !normalized, "a normalizer that decays is not written");
constexpr CublasLayout layout{key_dim, value_dim,  sizeof(io_t),        sizeof(gate_t),
                              block,   normalized, trait::before_update};
constexpr int key_ld = layout.key_ld, value_ld = layout.value_ld;

/// Order of the regions of the workspace. Regions that a problem lacks are skipped here. The host
/// skips the later ones (cublas_steps.cpp).
constexpr int gates_region = 0, operands_region = trait::decay != no_decay;
constexpr int scores_region = operands_region + 1, outputs_region = operands_region + 2;
constexpr int from_start_region = operands_region + 3;  // where there is an initial state

/// The sequence and the leaf that this block works on.
struct Leaf {
  const LinearRecurrenceParams& p;
  CublasTree tree;
  long long sequence, index;

  __device__ __forceinline__ explicit Leaf(const LinearRecurrenceParams& params)
      : Leaf(params, gridDim.y, blockIdx.y) {}
  __device__ __forceinline__ Leaf(const LinearRecurrenceParams& params, long long leaves,
                                  long long number)
      : p(params), tree{params.seq, leaves}, sequence(blockIdx.x), index(number) {}

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
  /// The leaf's first gates per key, and the elements from one token's to the next.
  __device__ __forceinline__ const gate_t* key_gates_of() const {
    return static_cast<const gate_t*>(p.g) + offset(key_gate_strides(p));
  }
  __device__ __forceinline__ long long gate_stride() const { return key_gate_strides(p).seq; }
  /// Sums of a leaf's gates, where there is a gate per key.
  __device__ __forceinline__ float* gates(long long leaf) const {
    return static_cast<float*>(p.work[gates_region]) + (sequence * tree.leaves + leaf) * key_ld;
  }
  /// The sum of the scalar gates up to and including token t, in units of log2. It is in double, so
  /// that the difference of two such sums is as exact as the sum of the gates between them.
  __device__ __forceinline__ double prefix(long long t) const {
    return t < 0 ? 0.0 : static_cast<const double*>(p.work[gates_region])[sequence * p.seq + t];
  }
  /// Sum of the gates of leaves first..last-1, in units of log2.
  __device__ __forceinline__ float total(long long from, long long to, int key) const {
    float sum = 0.0f;
#pragma unroll 4
    for (long long leaf = from; leaf < to; ++leaf) sum += gates(leaf)[key];
    return sum;
  }
};

/// Copies v head-first into rows that are value_ld apart. For a normalizer, adds a column of ones.
__device__ __forceinline__ void copy_values(const Leaf& leaf) {
  const LinearRecurrenceParams& p = leaf.p;
  const io_t* v = leaf.tensor(p.v, p.value_strides);
  const int region = from_start_region + (p.initial_state != nullptr ? 1 : 0);
  work_t* out =
      static_cast<work_t*>(p.work[region]) + (leaf.sequence * p.seq + leaf.first()) * value_ld;
  const int rows = leaf.valid();
  for (int t = 0; t < rows; ++t)
    for (int column = threadIdx.x; column < value_dim; column += layout.value_threads)
      out[static_cast<long long>(t) * value_ld + column] =
          device::from_float<work_t>(device::to_float(v[t * p.value_strides.seq + column]));
  if constexpr (normalized)
    for (int t = threadIdx.x; t < rows; t += layout.value_threads)
      out[static_cast<long long>(t) * value_ld + value_dim] = device::from_float<work_t>(1.0f);
}

/// Writes o from the float32 outputs: divided by its denominator where there is one, and rounded
/// once.
__device__ __forceinline__ void round_outputs(const Leaf& leaf) {
  const LinearRecurrenceParams& p = leaf.p;
  io_t* o = static_cast<io_t*>(p.o) + leaf.offset(output_strides(p));
  const float* in = static_cast<const float*>(p.work[outputs_region]) +
                    (leaf.sequence * p.seq + leaf.first()) * value_ld;
  const int rows = leaf.valid();
#pragma unroll 2
  for (int t = 0; t < rows; ++t)
    for (int column = threadIdx.x; column < value_dim; column += layout.value_threads) {
      const float* row = in + static_cast<long long>(t) * value_ld;
      o[t * output_strides(p).seq + column] = device::from_float<io_t>(
          normalized ? row[column] / (row[value_dim] + p.epsilon) : row[column]);
    }
}

/// Writes what the initial state leaves in the final state, before a product adds the rest. Block
/// y, the leaf, takes its share of the keys. The thread that reads an element also writes it.
__device__ __forceinline__ void carry_state(const Leaf& leaf) {
  const LinearRecurrenceParams& p = leaf.p;
  const long long matrix = leaf.sequence * key_dim * value_dim;
  for (long long key = leaf.index; key < key_dim; key += leaf.tree.leaves) {
    float decay = 1.0f;
    if constexpr (key_gates)
      decay = device::exp2_fast(leaf.total(0, leaf.tree.leaves, static_cast<int>(key)));
    if constexpr (scalar_decay)
      decay = device::exp2_fast(static_cast<float>(leaf.prefix(p.seq - 1)));
    for (int column = threadIdx.x; column < value_dim; column += layout.value_threads) {
      const long long at = matrix + state_offset(static_cast<int>(key), column);
      p.final_state[at] = decay * p.initial_state[at];
    }
  }
}

}  // namespace gla_bench::linear_recurrence::parallel_cublas
