#pragma once
// What the warps of a block of flash_sm90's backward share: its keys, the steps of queries that it
// walks over, and the places and mbarriers in its shared memory.

#include "device/sm90_products.cuh"
#include "device/types.cuh"
#include "softmax_attention/backward/gains.cuh"
#include "softmax_attention/sm90/backward/layout.h"
#include "softmax_attention/sm90/key_biases.cuh"
#include "softmax_attention/sm90/positions.cuh"
#include "softmax_attention/sm90/shared_sums.cuh"
#include "softmax_attention/sm90/warpgroup.cuh"

namespace gla_bench::softmax_attention::sm90 {

using namespace device::sm90;

struct BackwardSm90Params {
  TensorMap q, k, v, d_o, dk, dv;
  AttentionParams base;
};

inline constexpr int block_m = tile::block_m, stages = tile::stages;
inline constexpr bool biased = trait::decay != 0, per_token = trait::decay == 2;
inline constexpr bool whole = launch::whole != 0;      ///< a block has all keys of its head
inline constexpr int parts = launch::parts;            ///< blocks that have the same keys
inline constexpr bool divided = parts > 1;
/// Whether parts of dq are added in order.
inline constexpr bool ordered = tile::deterministic != 0 && !whole;
inline constexpr BackwardSm90Layout layout{
    dim::key_dim, dim::value_dim, block_m, stages, trait::decay, ordered, whole};
static_assert(layout.bytes == launch::shared_bytes);

/// Steps of a query head, and blocks of a key head.
__device__ __forceinline__ int steps_of_head(const AttentionParams& p) {
  return static_cast<int>((p.seq + block_m - 1) / block_m);
}
__device__ __forceinline__ int blocks_of_head(const AttentionParams& p) {
  return static_cast<int>((p.key_seq + layout.block_n - 1) / layout.block_n);
}

/// Key heads whose blocks are at work at a time. Eight blocks of each then run beside one another on
/// 132 multiprocessors: they share what they read of q and do, and what they add to dq, while it is
/// in the L2 cache. With all of 64 heads at work, two would, and four times the bytes go to memory.
/// With two or three heads at work no byte goes there twice, but it was 1 to 2 % slower wherever
/// memory is not the limit, probably since 40 blocks or more add to the sums of one head.
inline constexpr int heads_together = 16;

/// The keys of a block, and the queries that see some of them, or a part of these queries.
struct Range : Positions {
  int batch, key_head;
  int first_key, last_key;
  int first_step, all_steps;  ///< of each query head
  /// Of the steps that see the keys, counted over the query heads of the group, those of this
  /// block, where several have the same keys.
  int first_of_part, end_of_part;
  long long result;  ///< the number of the block's part of dk and dv

  __device__ __forceinline__ explicit Range(const AttentionParams& params) : Positions{params} {
    const int heads = static_cast<int>(p.batch * p.key_heads), keys = static_cast<int>(p.key_seq);
    const int blocks = blocks_of_head(p);
    const int index = static_cast<int>(blockIdx.x) / parts;
    const int round = index / (heads_together * blocks);
    // The last round takes what is left over: few heads alone would end on their long blocks.
    const int last = heads < heads_together ? 0 : heads / heads_together - 1;
    const int before = (round < last ? round : last) * heads_together;
    const int width = round < last ? heads_together : heads - before;
    const int sequence = before + (index - before * blocks) % width;
    batch = sequence / static_cast<int>(p.key_heads);
    key_head = sequence % static_cast<int>(p.key_heads);
    // The blocks with the most work start first: the first keys.
    first_key = (index - before * blocks) / width * layout.block_n;
    const int end = first_key + layout.block_n;
    last_key = (end < keys ? end : keys) - 1;
    const int nearest = first_key - position(0);  // the first query that sees the first key
    // A block with all keys stores dq of queries that see none of them as well.
    first_step = trait::causal != 0 && !whole && nearest > 0 ? nearest / block_m : 0;
    all_steps = steps_of_head(p);
    if constexpr (divided) {
      const int part = static_cast<int>(blockIdx.x) % parts;
      const long long steps = 1LL * trait::group * (all_steps - first_step);
      first_of_part = static_cast<int>(steps * part / parts);
      end_of_part = static_cast<int>(steps * (part + 1) / parts);
      result = (1LL * sequence * blocks + first_key / layout.block_n) * parts + part;
    }
  }
  /// A query head of the group, counted over the batch.
  __device__ __forceinline__ long long sequence(int of_group) const {
    return batch * p.heads + key_head * trait::group + of_group;
  }
  /// The number of a step over all heads.
  __device__ __forceinline__ long long step(int of_group, int n) const {
    return sequence(of_group) * all_steps + n;
  }
  /// Whether some queries of a step see only a part of the keys.
  __device__ __forceinline__ bool on_edge(int n) const {
    if (first_key + layout.block_n > p.key_seq) return true;
    return trait::causal != 0 && position(n * block_m) < last_key;
  }
  struct Steps {
    int begin, end;
  };
  /// The steps of a query head that the block walks over. The whole warp calls it.
  __device__ __forceinline__ Steps steps(int of_group) const {
    if constexpr (!divided) return {first_step, end_step(of_group)};
    const int each = all_steps - first_step, before = of_group * each;
    const int first = first_of_part - before, end = end_of_part - before;
    return {first_step + (first > 0 ? first : 0), first_step + (end < each ? end : each)};
  }
  /// The end of the steps that a query head needs: those behind look back no further than to later
  /// keys. The whole warp calls it.
  __device__ __forceinline__ int end_step(int of_group) const {
    if constexpr (!biased || whole) return all_steps;
    const int* first_tiles =
        static_cast<const int*>(p.work[work::first_tiles]) + sequence(of_group) * all_steps;
    const int own = first_key / layout.block_n;
    int end = first_step;
    for (int begin = first_step; begin < all_steps; begin += 32) {
      const int step = begin + lane();
      const unsigned needed =
          __ballot_sync(0xffffffffu, step < all_steps && first_tiles[step] <= own);
      if (needed != 0) end = begin + 32 - __clz(static_cast<int>(needed));
    }
    return end;
  }
  __device__ __forceinline__ const DecaySum* sums(int of_group) const {
    return static_cast<const DecaySum*>(p.work[work::decay_sums]) + sequence(of_group) * p.key_seq;
  }
};

/// A step's queries in shared memory.
struct Stage {
  unsigned queries, d_outputs, record;  ///< shared addresses
  unsigned barriers;                    ///< shared address of the first of its four
  unsigned parity;

  __device__ __forceinline__ unsigned pairs() const { return record + layout.pairs_at; }
  __device__ __forceinline__ unsigned sums() const { return record + layout.sums_at; }

  __device__ __forceinline__ unsigned queries_arrived() const { return barriers; }
  __device__ __forceinline__ unsigned gradients_arrived() const { return barriers + 8; }
  __device__ __forceinline__ unsigned queries_free() const { return barriers + 16; }
  __device__ __forceinline__ unsigned gradients_free() const { return barriers + 24; }
};

/// The place of a step's dS, which both consumers write and read.
struct Exchange {
  unsigned gradient, query_sums;  ///< shared addresses
  unsigned written, read;         ///< mbarriers
  unsigned parity;
};

struct Memory {
  unsigned begin;  ///< shared address, a multiple of 1024

  __device__ __forceinline__ explicit Memory(void* memory)
      : begin((shared_address(memory) + 1023u) & ~1023u) {}

  __device__ __forceinline__ unsigned keys() const { return begin; }
  __device__ __forceinline__ unsigned values() const { return begin + layout.values; }
  __device__ __forceinline__ unsigned keys_arrived() const { return begin + layout.barriers; }
  __device__ __forceinline__ unsigned dq(int consumer) const {
    return begin + layout.dq_at + consumer * layout.dq.first_width / 2 * 128 * 4;
  }
  /// `step` counts the steps that the block has walked over before, over all heads.
  __device__ __forceinline__ Stage stage(int step) const {
    const int s = step % stages;
    return {begin + layout.queries + s * layout.arriving_queries,
            begin + layout.d_outputs + s * layout.arriving_gradients,
            begin + layout.records + s * layout.record_bytes, begin + layout.barriers + 8 + s * 32,
            static_cast<unsigned>(step / stages) & 1u};
  }
  __device__ __forceinline__ Exchange exchange(int step) const {
    const unsigned barriers = begin + layout.barriers + 8 + stages * 32 + step % 2 * 16;
    return {begin + layout.gradients + step % 2 * layout.gradient_bytes,
            begin + layout.query_sums + step % 2 * layout.sum_warps * block_m * 4, barriers,
            barriers + 8, static_cast<unsigned>(step / 2) & 1u};
  }
  __device__ __forceinline__ void init_barriers() const {
    constexpr int warps = 4 * layout.consumers;
    barrier_init(keys_arrived(), 1);
    for (int s = 0; s < stages; ++s) {
      const Stage its = stage(s);
      barrier_init(its.queries_arrived(), 1);
      barrier_init(its.gradients_arrived(), 1);
      barrier_init(its.queries_free(), 32 * warps);  // each lane has read pairs
      barrier_init(its.gradients_free(), warps);
    }
    for (int s = 0; s < 2; ++s) {
      barrier_init(exchange(s).written, warps);
      barrier_init(exchange(s).read, warps + (ordered && per_token ? 32 : 0));
    }
    barrier_init_fence();
  }
};

}  // namespace gla_bench::softmax_attention::sm90
