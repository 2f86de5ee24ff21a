#pragma once
// Sums of dS over the keys of each query, which the gradient of a decay per token is formed from.
// Each warp writes the sums over its own 16 keys to shared memory. One step later each consumer
// adds up those of its warps, and adds them to the sums in device memory.

#include "softmax_attention/sm90/backward/block.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// Lanes whose numbers differ in `bit` divide 2 half sums between them. Each lane keeps half of
/// them, in order.
template <int half>
__device__ __forceinline__ void share(float (&sum)[block_m / 4], int& first, int bit) {
  const bool upper = (lane() & bit) != 0;
  if (upper) first += half;
#pragma unroll
  for (int c = 0; c < half; ++c) {
    const float given = upper ? sum[c] : sum[half + c];
    const float kept = upper ? sum[half + c] : sum[c];
    sum[c] = kept + __shfl_xor_sync(0xffffffffu, given, bit);
  }
}

/// `gradients`: dS^T as a thread has it. `to`: the step's place, float [sum_warps][block_m]. Where
/// both consumers have the same keys, each has half of its warps put them.
__device__ __forceinline__ void put_query_sums(const float (&gradients)[block_m / 2], unsigned to) {
  float sum[block_m / 4];
#pragma unroll
  for (int i = 0; i < block_m / 2; i += 4)
#pragma unroll
    for (int e = 0; e < 2; ++e) sum[i / 2 + e] = gradients[i + e] + gradients[i + 2 + e];
  int first = 0;
  share<block_m / 8>(sum, first, 16);
  share<block_m / 16>(sum, first, 8);
  share<block_m / 32>(sum, first, 4);
  const unsigned mine = to + ((layout.by_columns ? 0 : group() * 4) + warp()) * block_m * 4;
#pragma unroll
  for (int c = 0; c < block_m / 32; ++c)
    store_shared(mine + (column_of((first + c) / 2 * 4) + (first + c) % 2) * 4,
                 __float_as_uint(sum[c]));
}

/// The step's place of them in device memory.
__device__ __forceinline__ double* query_sums_of(const AttentionParams& p, const Range& range,
                                                 int h, int n) {
  return static_cast<double*>(p.work[work::query_sums]) + range.sequence(h) * p.seq + n * block_m;
}

/// A consumer adds the sums of its own warps. `loss` takes dS back where operands are float16. `h`
/// and `n`: the query head of the group and its step.
__device__ __forceinline__ void add_query_sums(const AttentionParams& p, const Range& range,
                                               unsigned from, int h, int n, float loss) {
  const int column = static_cast<int>(threadIdx.x) % 128;
  if (column >= block_m || n * block_m + column >= p.seq) return;
  constexpr int each = layout.sum_warps / layout.consumers;
  double sum = 0.0;
#pragma unroll
  for (int w = 0; w < each; ++w)
    sum += __uint_as_float(load_shared(from + ((group() * each + w) * block_m + column) * 4));
  atomicAdd(query_sums_of(p, range, h, n) + column, static_cast<double>(loss) * sum);
}

/// The sums in device memory, for one warp that adds those of all warps alone.
struct QuerySums {
  double sum[block_m / 32];

  __device__ __forceinline__ void load(const AttentionParams& p, const Range& range, int h, int n) {
    const double* from = query_sums_of(p, range, h, n) + lane();
#pragma unroll
    for (int i = 0; i < block_m / 32; ++i)
      sum[i] = n * block_m + i * 32 + lane() < p.seq ? __ldcg(from + i * 32) : 0.0;
  }
  __device__ __forceinline__ void add(unsigned from, float loss) {
#pragma unroll
    for (int i = 0; i < block_m / 32; ++i) {
      double all = 0.0;
#pragma unroll
      for (int w = 0; w < layout.sum_warps; ++w)
        all += __uint_as_float(load_shared(from + (w * block_m + i * 32 + lane()) * 4));
      sum[i] += static_cast<double>(loss) * all;
    }
  }
  __device__ __forceinline__ void store(const AttentionParams& p, const Range& range, int h,
                                        int n) const {
    double* to = query_sums_of(p, range, h, n) + lane();
#pragma unroll
    for (int i = 0; i < block_m / 32; ++i)
      if (n * block_m + i * 32 + lane() < p.seq) __stcg(to + i * 32, sum[i]);
  }
};

}  // namespace gla_bench::softmax_attention::sm90
