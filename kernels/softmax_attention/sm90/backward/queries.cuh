#pragma once
// What the queries of a step bring with them to every block of keys: -lse, in units of log2, and D.
// A kernel before the walk forms them step by step, so that they are copied into shared memory with
// the queries. It zeroes the sums of dq as well.
//
// With a decay, -lse has the bias of the query relative to the first one of its step added to it,
// which is as exact as its own size allows; what lies between the step and a block of keys is one
// number for both. Where queries see only a part of the keys, and decay too much for a difference
// of such biases, the sums of log decays themselves are needed, with -lse in the place that is not
// used. They stand behind the others.

#include "softmax_attention/backward/pairs.cuh"
#include "softmax_attention/sm90/backward/block.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// The record of a step: with a decay the DecaySum up to its first query, whose place that is not
/// used has their spread and the first block of keys that walks over the step; (-lse, D) of each
/// query, (-inf, 0) behind the last one; with a decay the DecaySum of each.
__device__ __forceinline__ unsigned char* query_record(const AttentionParams& p, long long step) {
  return static_cast<unsigned char*>(p.work[work::query_records]) + step * layout.record_bytes;
}

__device__ __forceinline__ Spread spread_of(const DecaySum& begin) {
  return static_cast<Spread>(begin.unused & 3);
}
/// The first block of keys that walks over a step.
__device__ __forceinline__ int first_block(const AttentionParams& p, long long step) {
  if constexpr (!biased) return 0;
  return reinterpret_cast<const DecaySum*>(query_record(p, step))->unused >> 2;
}
/// The same, from the first tiles: the earliest that this step or a later one looks back to. Runs
/// on a warp.
__device__ __forceinline__ int find_first_block(const AttentionParams& p, long long sequence, int n,
                                                int steps) {
  const int* first_tiles = static_cast<const int*>(p.work[work::first_tiles]) + sequence * steps;
  int first = first_tiles[n];
  for (int step = n + lane(); step < steps; step += 32)
    first = first_tiles[step] < first ? first_tiles[step] : first;
  return __reduce_min_sync(0xffffffffu, first);
}

/// How many blocks of keys have added to a step, in a fixed order (ordered.cuh). The counters stand
/// behind all sums of dq.
__device__ __forceinline__ int* added_blocks(const AttentionParams& p, long long step) {
  const long long steps = p.batch * p.heads * steps_of_head(p);
  return reinterpret_cast<int*>(static_cast<float*>(p.work[work::dq_sums]) +
                                steps * layout.step_floats) +
         step;
}
/// Zeroes the sums of dq of a step and, in a fixed order, its counter.
__device__ __forceinline__ void zero_dq(const AttentionParams& p, long long step) {
  auto* sums = static_cast<float4*>(p.work[work::dq_sums]) + step * (layout.step_floats / 4);
  for (int n = static_cast<int>(threadIdx.x); n < layout.step_floats / 4; n += layout.side_threads)
    sums[n] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if constexpr (ordered)
    if (threadIdx.x == 0) *added_blocks(p, step) = 0;
}

/// Writes the record of a step, and zeroes its sums of dq. Runs on a block for each step.
__device__ __forceinline__ void write_record(const AttentionParams& p) {
  constexpr int threads = layout.side_threads, lanes = row_layout.lanes;
  __shared__ float2 pairs[block_m];
  const int steps = steps_of_head(p);
  const long long step = blockIdx.x, sequence = step / steps;
  const int n = static_cast<int>(step % steps), i = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int first = 0; first < block_m; first += threads / lanes) {
    const int row = first + i / lanes, query = n * block_m + row;
    if (row >= block_m) continue;  // all lanes of a row do
    float2 pair = make_float2(device::minus_infinity(), 0.0f);
    if (query < p.seq) pair = pair_of(p, sequence / p.heads, sequence % p.heads, query);
    if (i % lanes == 0) pairs[row] = pair;
  }
  if constexpr (!whole) zero_dq(p, step);
  __syncthreads();
  unsigned char* record = query_record(p, step);
  const bool has_query = i < block_m;
  float2 own = pairs[has_query ? i : 0];
  if constexpr (biased) {
    const auto* sums =
        static_cast<const DecaySum*>(p.work[work::decay_sums]) + sequence * p.key_seq;
    const Positions positions{p};
    const int keys = static_cast<int>(p.key_seq);
    const auto sum_of = [&](int row) {
      const int place = positions.position(row);
      return sums[place < 0 ? 0 : place < keys ? place : keys - 1];
    };
    DecaySum begin = sum_of(n * block_m), sum = sum_of(n * block_m + (has_query ? i : 0));
    const float bias = bias_between(sum, begin);
    const bool far = __syncthreads_or(spread_of(fabsf(bias)) == Spread::far) != 0;
    const bool any = __syncthreads_or(bias != 0.0f) != 0;
    begin.unused = static_cast<int>(far ? Spread::far : any ? Spread::near : Spread::none);
    if constexpr (ordered)
      if (i < 32) begin.unused |= find_first_block(p, sequence, n, steps) << 2;
    sum.unused = __float_as_int(own.x);
    own.x += bias;
    if (has_query) reinterpret_cast<DecaySum*>(record + layout.sums_at)[i] = sum;
    if (i == 0) *reinterpret_cast<DecaySum*>(record) = begin;
  }
  if (has_query) reinterpret_cast<float2*>(record + layout.pairs_at)[i] = own;
}

}  // namespace gla_bench::softmax_attention::sm90
