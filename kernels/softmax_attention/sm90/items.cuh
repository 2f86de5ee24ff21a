#pragma once
// What the warps of a flash_sm90 block share: the list of items that the block works on, and the
// stages and mbarriers of its shared memory.
//
// An item is `block_m` queries of one head. Items are in the order of order.h. With
// tile::persistent = 1 a block takes one item of each round of gridDim.x items, from the front of
// one round and from the back of the next, so that causal items of different lengths add up to the
// same work for every block. With 2, blocks take the next item from a counter in device memory;
// with 0 the hardware hands out items. Of a ragged batch items are slots (ragged.cuh), of which
// some have no queries. Where items are fewer than multiprocessors, launch::parts of them stand for
// each: with the same queries, and a part of the keys that these see.

#include "device/math.cuh"
#include "device/sm90_products.cuh"
#include "device/types.cuh"
#include "softmax_attention/decay_bias.cuh"
#include "softmax_attention/ragged.cuh"
#include "softmax_attention/sm90/key_biases.cuh"
#include "softmax_attention/sm90/layout.h"
#include "softmax_attention/sm90/order.h"
#include "softmax_attention/sm90/positions.cuh"
#include "softmax_attention/sm90/shared_sums.cuh"
#include "softmax_attention/sm90/warpgroup.cuh"

namespace gla_bench::softmax_attention::sm90 {

using namespace device::sm90;

struct FlashSm90Params {
  TensorMap q, k, v, o;
  AttentionParams base;
};

inline constexpr bool biased = trait::decay != 0;
inline constexpr int consumers = tile::block_m / FlashSm90Layout::rows, block_n = tile::block_n;
inline constexpr int stages = tile::stages;
inline constexpr bool shared_items = tile::persistent == 2;
inline constexpr int parts = launch::parts;  ///< items that have the same queries
inline constexpr bool divided = parts > 1;
inline constexpr FlashSm90Layout layout{dim::key_dim, dim::value_dim, consumers,   block_n,
                                        stages,       biased,         shared_items};
static_assert(layout.bytes == launch::shared_bytes && layout.block_m == tile::block_m);
static_assert(block_n % 16 == 0 && dim::key_dim <= 256 && dim::value_dim <= 256);

/// Regions of the workspace of decay attention that the walk reads (first_tiles.cuh): DecaySum
/// [B,H,Tk], the first tile of each item, int [B,H,blocks], and KeyBiases [B,H,tiles].
inline constexpr int work_sums = 0, work_first_tiles = 2, work_biases = 5;
/// The counter of items that blocks have taken beyond their first, behind the other regions.
inline constexpr int work_taken = biased ? 6 : 0;
/// What the parts of a row leave (flash/parts.cuh). Nothing decays where items are divided.
inline constexpr int work_parts = shared_items ? 1 : 0;
static_assert(!divided || (!biased && trait::ragged == 0));

static_assert(!biased || sizeof(KeyBiases<block_n>) == layout.arriving_biases);

struct Item {
  int batch, head;
  int first_row;             ///< query
  int first_tile, end_tile;  ///< tiles of keys that are walked, from the last to the first
  Part part = {};            ///< of a ragged batch
  int share = 0;             ///< which part of the keys, where items are divided
};

/// Counts are worked out for each item anew. The compiler does not know that their argument is
/// zero; else it would keep them in registers during the walk, where they are few.
struct Items : Positions {
  __device__ __forceinline__ explicit Items(const AttentionParams& params) : Positions{params} {}

  /// Of a head.
  __device__ __forceinline__ int blocks(int zero) const {
    const long long seq = p.seq + zero;
    return static_cast<int>(trait::ragged != 0 ? seq / layout.block_m + p.sequences
                                               : (seq + layout.block_m - 1) / layout.block_m);
  }
  /// Batch * heads.
  __device__ __forceinline__ int sequences(int zero) const {
    return static_cast<int>(p.batch * (p.heads + zero));
  }
  __device__ __forceinline__ int last_row(const Item& item) const {
    const int last = item.first_row + layout.block_m, seq = queries();
    return (last < seq ? last : seq) - 1;
  }
  /// Counts rows and keys in the item's sequence from now on.
  __device__ __forceinline__ void enter(const Item& item) {
    if constexpr (trait::ragged != 0) part = item.part;
  }
  /// The item in a slot of a head. One without queries has a first row behind the last one.
  __device__ __forceinline__ Item item_in_slot(int slot, int head) {
    const auto begin = [&](long long n) { return p.cu_seqlens[n] / layout.block_m + n; };
    const long long n = last_begun(p.sequences, slot, begin);
    const int query = p.cu_seqlens[n], key = p.cu_seqlens_k[n];
    Item item{0, head, static_cast<int>(slot - begin(n)) * layout.block_m,
              0, 0,    {query, key, p.cu_seqlens[n + 1] - query, p.cu_seqlens_k[n + 1] - key}};
    enter(item);
    if (item.first_row < part.queries)
      item.end_tile = (limit(last_row(item)) + block_n - 1) / block_n;
    return item;
  }
  __device__ __forceinline__ const DecaySum* sums(const Item& item) const {
    return static_cast<const DecaySum*>(p.work[work_sums]) +
           (static_cast<long long>(item.batch) * p.heads + item.head) * p.key_seq;
  }
  /// Whether something decays between the first key that an item walks over and its last query.
  __device__ __forceinline__ bool decays(const Item& item) const {
    const int last = position(last_row(item));
    const DecaySum begin = sums(item)[item.first_tile * block_n], end = sums(item)[last];
    return begin.high != end.high || begin.low != end.low || begin.resets != end.resets;
  }
  __device__ __forceinline__ const KeyBiases<block_n>* biases(const Item& item) const {
    const long long tiles = (p.key_seq + block_n - 1) / block_n;
    return static_cast<const KeyBiases<block_n>*>(p.work[work_biases]) +
           (static_cast<long long>(item.batch) * p.heads + item.head) * tiles;
  }
  /// Whether all queries of an item see all keys of a tile.
  __device__ __forceinline__ bool seen_whole(const Item& item, int tile) const {
    return (tile + 1) * block_n <= limit(item.first_row);
  }

  /// The order to look an item up in. How far back a decay lets items look is not known before, so
  /// that a long item and a short one of a head do not make up a pair. Items that are dealt out
  /// beforehand are then of all heads, and neighbours among them are alike.
  __device__ __forceinline__ ItemOrder order(int index) const {
    const int zero = index >> 31;
    const int heads = sequences(zero), keys = static_cast<int>(p.key_seq) + zero;
    constexpr int token_bytes = (dim::key_dim + dim::value_dim) * sizeof(io_t);
    const int cached = biased && tile::persistent == 1
                           ? heads
                           : ItemOrder::heads_in_cache(token_bytes, keys, heads, trait::group);
    return {blocks(zero), heads, trait::group, trait::causal != 0, cached};
  }
  /// The item of this number, which is entered.
  __device__ __forceinline__ Item item(int index) {
    const int share = index % parts;
    index /= parts;
    const ItemOrder its_order = order(index);
    const auto [sequence, block] = its_order.place(index);
    if constexpr (trait::ragged != 0) return item_in_slot(block, sequence);
    Item item{sequence / static_cast<int>(p.heads), sequence % static_cast<int>(p.heads),
              block * layout.block_m, 0, 0};
    item.end_tile = (limit(last_row(item)) + block_n - 1) / block_n;
    if constexpr (biased)
      item.first_tile =
          static_cast<const int*>(p.work[work_first_tiles])[sequence * its_order.blocks + block];
    if constexpr (divided) {
      const int tiles = item.end_tile;
      item.share = share;
      item.first_tile = tiles * share / parts;
      item.end_tile = tiles * (share + 1) / parts;
    }
    return item;
  }
};

/// A tile of keys and one of values.
struct Stage {
  unsigned keys, values, biases, sums;  ///< shared addresses
  unsigned barriers;                    ///< shared address of the first of its four
  unsigned parity;

  __device__ __forceinline__ unsigned keys_arrived() const { return barriers; }
  __device__ __forceinline__ unsigned values_arrived() const { return barriers + 8; }
  __device__ __forceinline__ unsigned keys_free() const { return barriers + 16; }
  __device__ __forceinline__ unsigned values_free() const { return barriers + 24; }
};

struct Memory {
  unsigned begin;  ///< shared address, a multiple of 1024

  __device__ __forceinline__ explicit Memory(void* memory)
      : begin((shared_address(memory) + 1023u) & ~1023u) {}

  /// `step` counts the tiles that the block has walked over before.
  __device__ __forceinline__ Stage stage(int step) const {
    const int s = step % stages;
    return {begin + layout.keys + s * layout.arriving_keys,
            begin + layout.values_at + s * layout.arriving_values,
            begin + layout.biases + s * layout.arriving_biases,
            begin + layout.sums + s * block_n * 16,
            begin + layout.barriers + s * 32,
            static_cast<unsigned>(step / stages) & 1u};
  }
  __device__ __forceinline__ unsigned queries(int consumer) const {
    return begin + consumer * layout.consumer_bytes;
  }
  __device__ __forceinline__ unsigned queries_arrived(int consumer) const {
    return begin + layout.barriers + stages * 32 + consumer * 16;
  }
  __device__ __forceinline__ unsigned queries_free(int consumer) const {
    return queries_arrived(consumer) + 8;
  }

  /// The place of the number of a later item, with two barriers: written, and read.
  __device__ __forceinline__ unsigned next_item(int turn) const {
    return begin + layout.next_items + turn % 2 * 4;
  }
  __device__ __forceinline__ unsigned next_written(int turn) const {
    return begin + layout.next_items + 8 + turn % 2 * 16;
  }
  __device__ __forceinline__ unsigned next_read(int turn) const { return next_written(turn) + 8; }

  __device__ __forceinline__ void init_barriers() const {
    for (int s = 0; s < stages; ++s) {
      const Stage its = stage(s);
      barrier_init(its.keys_arrived(), 1);
      barrier_init(its.values_arrived(), 1);
      barrier_init(its.keys_free(), (biased ? 128 : 4) * consumers);
      barrier_init(its.values_free(), 4 * consumers);
    }
    for (int c = 0; c < consumers; ++c) {
      barrier_init(queries_arrived(c), 1);
      barrier_init(queries_free(c), 1);
    }
    for (int turn = 0; shared_items && turn < 2; ++turn) {
      barrier_init(next_written(turn), 1);
      barrier_init(next_read(turn), 4 * consumers);
    }
    barrier_init_fence();
  }
};

/// Goes through the items of this block: for (Turns turn(...); turn.left(); turn.next()). `takes`
/// is true for the thread that has tiles copied. Where blocks share items, it takes the next one
/// for all warps of the block; the others are whole warps.
class Turns {
 public:
  __device__ __forceinline__ Turns(const Items& items, const Memory& memory, bool takes)
      : items_(items),
        memory_(memory),
        taken_(static_cast<int*>(items.p.work[work_taken])),
        index_(static_cast<int>(blockIdx.x)),
        takes_(takes) {}

  __device__ __forceinline__ int index() const { return index_; }
  __device__ __forceinline__ bool left() const {
    const int zero = index_ >> 31;
    return index_ < items_.blocks(zero) * items_.sequences(zero) * parts;
  }
  __device__ __forceinline__ void next() {
    const int width = static_cast<int>(gridDim.x), own = static_cast<int>(blockIdx.x);
    if constexpr (shared_items) {
      const unsigned parity = static_cast<unsigned>(turn_ / 2) & 1u;
      if (takes_) {
        index_ = width + atomicAdd(taken_, 1);
        if (turn_ >= 2) barrier_wait(memory_.next_read(turn_), parity ^ 1u);
        store_shared(memory_.next_item(turn_), static_cast<unsigned>(index_));
        barrier_arrive(memory_.next_written(turn_));
      } else {
        barrier_wait(memory_.next_written(turn_), parity);
        // The lane that arrives is the one that reads.
        if (lane() == 0) {
          index_ = static_cast<int>(load_shared(memory_.next_item(turn_)));
          barrier_arrive(memory_.next_read(turn_));
        }
        index_ = __shfl_sync(0xffffffffu, index_, 0);
      }
      ++turn_;
    } else {
      // In the last round there may be no item left.
      ++turn_;
      index_ = turn_ * width + (turn_ % 2 == 0 ? own : width - 1 - own);
    }
  }

 private:
  const Items& items_;
  const Memory& memory_;
  int* taken_;
  int index_, turn_ = 0;
  bool takes_;
};

}  // namespace gla_bench::softmax_attention::sm90
