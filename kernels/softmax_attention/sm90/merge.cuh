#pragma once
// What becomes of the parts of a row of flash_sm90, where several items have its keys: each thread
// merges four columns of a row. Rows are many and have at most eight parts, while SplitMerge
// (flash/parts.cuh) takes a block for each of few rows with many parts. Bytes moved: the parts
// once, o and lse once.

#include "softmax_attention/sm90/items.cuh"
#include "softmax_attention/flash/parts.cuh"

namespace gla_bench::softmax_attention::sm90 {

inline constexpr int merged_columns = layout.merged_columns, merge_threads = layout.merge_threads;
static_assert(merged_columns == 4 && dim::value_dim % merged_columns == 0);

__device__ __forceinline__ void merge_parts(const AttentionParams& p) {
  constexpr int packs = dim::value_dim / merged_columns;
  const long long index = 1LL * blockIdx.x * merge_threads + threadIdx.x;
  const long long rows = p.batch * p.seq * p.heads;
  const long long row = index / packs;  // in [B, T, H]
  const int column = static_cast<int>(index % packs) * merged_columns;
  if (row >= rows) return;
  const SplitParts<work_parts> from{p};
  float log_sums[parts], top = device::minus_infinity();
#pragma unroll
  for (int n = 0; n < parts; ++n) {
    log_sums[n] = __ldcg(from.log_sums() + n * rows + row);
    top = fmaxf(top, log_sums[n]);
  }
  if (top == device::minus_infinity()) top = 0.0f;  // no part has seen a key
  float sum = 0.0f, outputs[merged_columns] = {};
#pragma unroll
  for (int n = 0; n < parts; ++n) {
    const float weight = device::exp2_fast(log_sums[n] - top);
    const float4 part = __ldcg(reinterpret_cast<const float4*>(
        from.outputs() + (n * rows + row) * dim::value_dim + column));
    sum += weight;
    outputs[0] = fmaf(weight, part.x, outputs[0]), outputs[1] = fmaf(weight, part.y, outputs[1]);
    outputs[2] = fmaf(weight, part.z, outputs[2]), outputs[3] = fmaf(weight, part.w, outputs[3]);
  }
  const float by = sum == 0.0f ? 0.0f : 1.0f / sum;
  const long long head = row % p.heads, query = row / p.heads % p.seq;
  const long long batch = row / p.heads / p.seq;
  const TokenStrides& s = p.output_strides;
  io_t* o = static_cast<io_t*>(p.o) + batch * s.batch + head * s.heads + query * s.seq + column;
  device::store_pair(o, by * outputs[0], by * outputs[1]);
  device::store_pair(o + 2, by * outputs[2], by * outputs[3]);
  if constexpr (trait::lse != 0)
    if (column == 0)
      p.lse[batch * p.lse_strides.batch + head * p.lse_strides.heads + query * p.lse_strides.seq] =
          sum == 0.0f ? device::minus_infinity() : (top + __log2f(sum)) * device::ln_2;
}

}  // namespace gla_bench::softmax_attention::sm90
