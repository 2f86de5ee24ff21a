#pragma once
// Sums over the slices of K, each of which a block of its own computes, and over the tokens of a
// head. Blocks write their parts to the workspace, and the kernels here add them up, always in the
// same order.
//
//   gradient_outputs  with a normalizer: the outputs, and from these the gradients of numerators
//                     and denominators; a warp per token and head
//   gradient_values   dv from the slices' parts; a thread per element
//   gradient_gates    the gradients of gates per token; a thread per token and head
//   gradient_sums     du and the gradient of a constant decay, in double; a thread for each sum
//
// Grids: ceil(work / 256) blocks.
//
// Workspace: value_parts [slices, B*H*T, width] and gate_parts [slices, B*H*T], in float32. The
// sums of a task, in double: [K] of du and, behind them, [slices] of a constant decay. A task is a
// sequence and head or, where launch::task_tokens is not 0, one of its chunks of as many tokens.

#include "linear_recurrence/backward/rows.cuh"
#include "linear_recurrence/chunk/ranges.cuh"

namespace gla_bench::linear_recurrence::backward {

inline constexpr int sum_threads = 256, slices = launch::slices;

__device__ __forceinline__ long long token_rows(const GradientParams& g) {
  return g.inputs.batch * g.inputs.heads * g.inputs.seq;
}

__device__ __forceinline__ float* value_part(const Sequence& of, int slice, long long t,
                                             int column) {
  return static_cast<float*>(of.g.inputs.work[work::value_parts]) +
         (slice * token_rows(of.g) + of.row(t)) * width + column;
}

__device__ __forceinline__ float& gate_part(const Sequence& of, int slice, long long t) {
  return static_cast<float*>(
      of.g.inputs.work[work::gate_parts])[slice * token_rows(of.g) + of.row(t)];
}

/// The sum number n of a task.
__device__ __forceinline__ double& sum_of(const GradientParams& g, long long task, int n) {
  return g.sums[task * (keys + slices) + n];
}

/// A row of a dense [B*H, T] array.
struct TokenRow {
  long long batch, head, token;
  __device__ TokenRow(const GradientParams& g, long long row)
      : batch(row / (g.inputs.heads * g.inputs.seq)),
        head(row / g.inputs.seq % g.inputs.heads),
        token(row % g.inputs.seq) {}
  __device__ __forceinline__ long long at(const TokenStrides& strides) const {
    return batch * strides.batch + token * strides.seq + head * strides.heads;
  }
};

/// The sum of the slices' parts, in their order. Parts have `each` numbers for a row.
__device__ __forceinline__ float sum_of_parts(const GradientParams& g, int region, int each,
                                              long long place) {
  const float* parts = static_cast<const float*>(g.inputs.work[region]) + place;
  float sum = 0.0f;
#pragma unroll 4
  for (int slice = 0; slice < slices; ++slice) sum += parts[slice * token_rows(g) * each];
  return sum;
}

__device__ __forceinline__ long long sum_thread() {
  return static_cast<long long>(blockIdx.x) * sum_threads + threadIdx.x;
}

__device__ inline void store_output_gradients(const GradientParams& g) {
  const long long row = sum_thread() / 32;
  if (row >= token_rows(g)) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float scale = g.inputs.scale;
  const auto output = [&](int column) {
    return scale * sum_of_parts(g, work::value_parts, width, row * width + column);
  };
  const io_t* d_o = static_cast<const io_t*>(g.d_o) + TokenRow(g, row).at(g.value_strides);
  float* to = g.d_outputs + row * width;
  const float divisor = output(values) + g.inputs.epsilon;
  double sum = 0.0;  // where a divisor is near zero, its gradient is all that counts
  for (int column = lane; column < values; column += 32) {
    const float x = device::to_float(d_o[column]) / divisor;
    to[column] = x;
    sum += static_cast<double>(x) * static_cast<double>(output(column));
  }
#pragma unroll
  for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, other);
  if (lane == 0) to[values] = static_cast<float>(-sum / static_cast<double>(divisor));
}

__device__ inline void store_values(const GradientParams& g) {
  const long long at = sum_thread(), row = at / values;
  if (row >= token_rows(g)) return;
  const int column = static_cast<int>(at % values);
  static_cast<io_t*>(g.dv)[TokenRow(g, row).at(g.value_strides) + column] =
      device::from_float<io_t>(sum_of_parts(g, work::value_parts, width, row * width + column));
}

__device__ inline void store_token_gates(const GradientParams& g) {
  const long long row = sum_thread();
  if (row < token_rows(g))
    g.d_gate[TokenRow(g, row).at(g.inputs.gate_strides)] =
        sum_of_parts(g, work::gate_parts, 1, row);
}

/// Calls act(task) for the tasks of a sequence and head.
template <class Act>
__device__ __forceinline__ void for_each_task(const GradientParams& g, long long pair, Act act) {
  if constexpr (launch::task_tokens == 0) {
    act(pair);
  } else {
    const ChunkSlots<launch::task_tokens> slots{g.inputs};
    const long long first = slots.first_slot(pair), count = slots.count(pair);
    for (long long n = 0; n < count; ++n) act(first + n);
  }
}

/// One of the sums over the tokens of a head: of a key's bonus, or of a constant decay.
__device__ inline void store_head_sum(const GradientParams& g) {
  constexpr int each = bonus ? keys : 1;
  const long long at = sum_thread(), head = at / each;
  if (head >= g.inputs.heads) return;
  const int first = bonus ? static_cast<int>(at % each) : keys, last = first + (bonus ? 1 : slices);
  double sum = 0.0;
  for (long long pair = head; pair < g.inputs.sequences * g.inputs.heads; pair += g.inputs.heads)
    for_each_task(g, pair, [&](long long task) {
      for (int n = first; n < last; ++n) sum += sum_of(g, task, n);
    });
  (bonus ? g.du : g.d_gate)[at] = static_cast<float>(sum);
}

}  // namespace gla_bench::linear_recurrence::backward

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    gradient_outputs(const __grid_constant__ gla_bench::GradientParams g) {
  if constexpr (trait::normalize != 0)
    gla_bench::linear_recurrence::backward::store_output_gradients(g);
}

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    gradient_values(const __grid_constant__ gla_bench::GradientParams g) {
  gla_bench::linear_recurrence::backward::store_values(g);
}

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    gradient_gates(const __grid_constant__ gla_bench::GradientParams g) {
  if constexpr (trait::decay == gla_bench::linear_recurrence::token_decay)
    gla_bench::linear_recurrence::backward::store_token_gates(g);
}

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    gradient_sums(const __grid_constant__ gla_bench::GradientParams g) {
  if constexpr (trait::before_update != 0 ||
                trait::decay == gla_bench::linear_recurrence::head_decay)
    gla_bench::linear_recurrence::backward::store_head_sum(g);
}
