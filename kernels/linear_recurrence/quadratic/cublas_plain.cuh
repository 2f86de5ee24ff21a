#pragma once
// The kernels between the products where decays are scalar or there are none. There the quadratic
// form needs no tree: it is one product, a factor for each score, and one more product.

#include "linear_recurrence/quadratic/cublas_leaf.cuh"

namespace gla_bench::linear_recurrence::parallel_cublas {

/// The smallest power of two of leaves that keeps each within the tile. The host computes the same.
__device__ __forceinline__ long long leaves_of(long long seq) {
  long long leaves = 1;
  while ((seq + leaves - 1) / leaves > block) leaves *= 2;
  return leaves;
}

/// gates: writes a sequence's sums up to each token. Block x is the sequence.
__device__ __forceinline__ void scan_gates(const LinearRecurrenceParams& p) {
  constexpr int threads = CublasLayout::scan_threads, warps = threads / 32;
  __shared__ double totals[warps];
  const long long sequence = blockIdx.x, h = sequence % p.heads;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const gate_t* g = static_cast<const gate_t*>(p.g) + sequence / p.heads * p.gate_strides.batch +
                    h * p.gate_strides.heads;
  double* out = static_cast<double*>(p.work[gates_region]) + sequence * p.seq;
  double before = 0.0;
  for (long long first = 0; first < p.seq; first += threads) {
    const long long t = first + threadIdx.x;
    float gate = 0.0f;
    if constexpr (trait::decay == head_decay) {
      gate = p.log_decay[h];
    } else {
      if (t < p.seq) gate = log_decay(device::to_float(g[t * p.gate_strides.seq]));
    }
    double sum = static_cast<double>(device::log2_e * fmaxf(gate, device::vanishing_gate));
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const double other = __shfl_up_sync(0xffffffffu, sum, distance);
      if (lane >= distance) sum += other;
    }
    if (lane == 31) totals[warp] = sum;
    __syncthreads();
    double all = 0.0;
#pragma unroll
    for (int n = 0; n < warps; ++n) {
      if (n < warp) sum += totals[n];
      all += totals[n];
    }
    if (t < p.seq) out[t] = before + sum;
    before += all;
    __syncthreads();
  }
}

__device__ __forceinline__ float decay_between(double from, double to) {
  return device::exp2_fast(static_cast<float>(to - from));
}

/// Forms operand blockIdx.z. 0 is q and 1 is k. Then comes k with its decay to the end, where a
/// final state is asked for and there are decays. Last comes q with its decay from the start, in
/// float32, where there is an initial state.
__device__ __forceinline__ void form_plain(const Leaf& leaf) {
  const LinearRecurrenceParams& p = leaf.p;
  const int slot = blockIdx.z;
  const bool to_end = scalar_decay && slot == 2 && p.final_state != nullptr;
  const bool from_start = slot >= 2 && !to_end;
  const io_t* x = leaf.tensor(slot == 1 || to_end ? p.k : p.q, p.key_strides);
  const long long all = static_cast<long long>(gridDim.x) * leaf.tree.padded;
  work_t* out = static_cast<work_t*>(p.work[operands_region]) +
                (slot * all + leaf.sequence * leaf.tree.padded + leaf.first()) * key_ld;
  float* start = static_cast<float*>(p.work[from_start_region]) +
                 (leaf.sequence * p.seq + leaf.first()) * key_ld;
  const int valid = leaf.valid(), rows = from_start ? valid : static_cast<int>(leaf.tree.leaf);
  for (int t = 0; t < rows; ++t) {
    float by = 1.0f;
    if constexpr (scalar_decay)
      if (slot >= 2 && t < valid) {
        const double here = leaf.prefix(leaf.first() + t);
        by = to_end ? decay_between(here, leaf.prefix(p.seq - 1)) : decay_between(0.0, here);
      }
    for (int key = threadIdx.x; key < key_dim; key += layout.row_threads) {
      const float value =
          t < valid ? by * feature(device::to_float(x[t * p.key_strides.seq + key])) : 0.0f;
      const long long at = static_cast<long long>(t) * key_ld + key;
      if (from_start)
        start[at] = value;
      else
        out[at] = device::from_float<work_t>(value);
    }
  }
}

/// Multiplies the scores of leaf i with leaf blockIdx.z by their decays, and writes zeros above the
/// diagonal. Leaf i belongs to a band of gridDim.y leaves that ends at leaf gridDim.z.
__device__ __forceinline__ void decay_scores(const LinearRecurrenceParams& p) {
  const long long i = gridDim.z - gridDim.y + blockIdx.y, j = blockIdx.z;
  if (trait::decay == no_decay && j < i) return;
  const Leaf leaf(p, leaves_of(p.seq), i);
  const long long size = leaf.tree.padded, length = leaf.tree.leaf;
  const long long first_i = i * length, first_j = j * length;
  work_t* scores = static_cast<work_t*>(p.work[scores_region]) +
                   leaf.sequence * leaf.tree.score_stride + first_i * size + first_j;
  // Both sums are taken to the end of leaf j, so the factors on either side are at most 1.
  const long long last = min(first_j + length, p.seq) - 1;
  const double middle = scalar_decay && j < i ? leaf.prefix(last) : 0.0;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int column = 2 * lane; column < length; column += 64) {
    double to[2] = {};
    float of_keys[2] = {1.0f, 1.0f};
    if constexpr (scalar_decay)
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        to[x] = leaf.prefix(min(first_j + column + x, p.seq - 1));
        if (j < i) of_keys[x] = decay_between(to[x], middle);
      }
#pragma unroll 2
    for (int row = warp; row < length; row += CublasLayout::decay_threads / 32) {
      work_t* at = scores + row * size + column;
      if (j > i) {
        device::store_pair(at, 0.0f, 0.0f);
        continue;
      }
      const float2 score = device::load_pair(at);
      float by[2] = {of_keys[0], of_keys[1]};
      if constexpr (scalar_decay) {
        const double here = leaf.prefix(min(first_i + row, p.seq - 1));
        if (j < i) {
          const float of_query = decay_between(middle, here);
          by[0] *= of_query;
          by[1] *= of_query;
        } else {
          by[0] = decay_between(to[0], min(to[0], here));
          by[1] = decay_between(to[1], min(to[1], here));
        }
      }
      const bool diagonal = j == i;
      device::store_pair(at, diagonal && column > row ? 0.0f : score.x * by[0],
                         diagonal && column + 1 > row ? 0.0f : score.y * by[1]);
    }
  }
}

/// Writes the final normalizer: the initial one plus the sum of a sequence's keys, in float32
/// throughout. Block x is the sequence and y a group of 32 keys. The warps of a block take the
/// tokens in turn.
__device__ __forceinline__ void sum_keys(const LinearRecurrenceParams& p) {
  constexpr int warps = CublasLayout::scan_threads / 32;
  __shared__ float parts[warps][32];
  const long long sequence = blockIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int key = static_cast<int>(blockIdx.y) * 32 + lane;
  const io_t* k = static_cast<const io_t*>(p.k) + sequence / p.heads * p.key_strides.batch +
                  sequence % p.heads * p.key_strides.heads + key;
  float sum = 0.0f;
  if (key < key_dim)
#pragma unroll 8
    for (long long t = warp; t < p.seq; t += warps)
      sum += feature(device::to_float(k[t * p.key_strides.seq]));
  parts[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || key >= key_dim) return;
  const long long at = sequence * key_dim + key;
  sum = p.initial_normalizer != nullptr ? p.initial_normalizer[at] : 0.0f;
#pragma unroll
  for (int n = 0; n < warps; ++n) sum += parts[n][lane];
  p.final_normalizer[at] = sum;
}

}  // namespace gla_bench::linear_recurrence::parallel_cublas
