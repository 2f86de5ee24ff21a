#pragma once
// What the queries of a step bring with them to every block of keys: -lse, in units of log2, and D.
// A kernel before the walk writes them step by step, so that they are copied into shared memory
// with the queries.
//
// With a decay, -lse has the bias of the query relative to the first one of its step added to it,
// which is as exact as its own size allows; what lies between the step and a block of keys is one
// number for both. Where queries see only a part of the keys, and decay too much for a difference
// of such biases, the sums of log decays themselves are needed, with -lse in the place that is not
// used. They stand behind the others.

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

/// Runs on a block of block_m threads for each step.
__device__ __forceinline__ void write_record(const AttentionParams& p) {
  const int steps = static_cast<int>((p.seq + block_m - 1) / block_m);
  const long long sequence = blockIdx.x / steps;
  const int n = static_cast<int>(blockIdx.x % steps), i = static_cast<int>(threadIdx.x);
  const int query = n * block_m + i;
  float2 own = make_float2(device::minus_infinity(), 0.0f);
  if (query < p.seq)
    own = static_cast<const float2*>(p.work[work::pairs])[sequence * p.seq + query];
  unsigned char* record = query_record(p, blockIdx.x);
  if constexpr (biased) {
    const auto* sums =
        static_cast<const DecaySum*>(p.work[work::decay_sums]) + sequence * p.key_seq;
    const Positions positions{p};
    const int keys = static_cast<int>(p.key_seq);
    const auto sum_of = [&](int row) {
      const int place = positions.position(row);
      return sums[place < 0 ? 0 : place < keys ? place : keys - 1];
    };
    DecaySum begin = sum_of(n * block_m), sum = sum_of(query);
    const float bias = bias_between(sum, begin);
    const bool far = __syncthreads_or(spread_of(fabsf(bias)) == Spread::far) != 0;
    const bool any = __syncthreads_or(bias != 0.0f) != 0;
    begin.unused = static_cast<int>(far ? Spread::far : any ? Spread::near : Spread::none);
    if constexpr (ordered)
      if (i < 32) begin.unused |= find_first_block(p, sequence, n, steps) << 2;
    sum.unused = __float_as_int(own.x);
    own.x += bias;
    reinterpret_cast<DecaySum*>(record + layout.sums_at)[i] = sum;
    if (i == 0) *reinterpret_cast<DecaySum*>(record) = begin;
  }
  reinterpret_cast<float2*>(record + layout.pairs_at)[i] = own;
}

}  // namespace gla_bench::softmax_attention::sm90
