#pragma once
// How a chunk's outputs of a tile of V leave chunk_sm90: they are added up over the cluster, scaled
// and rounded.
//
// The blocks of a cluster have different keys, so each has a partial sum of the outputs. Tile t of
// V belongs to block t % cluster. The other blocks send their sums there, thread by thread, in the
// order in which their registers hold them. The owner adds them in the order of the blocks and
// rounds once.

#include "linear_recurrence/sm90/block.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class Outputs {
 public:
  __device__ __forceinline__ Outputs(const ChunkSm90Params& p, const Block& block, int group)
      : p_(p),
        block_(block),
        group_(group),
        thread_(threadIdx.x % 128),
        lane_(threadIdx.x % 32),
        warp_(threadIdx.x / 32 % 4) {}

  /// Prepares, before the other blocks begin, the mbarriers that this block waits on first.
  static __device__ __forceinline__ void announce(const Block& block) {
    for (int t = 0; cluster > 1 && t < layout.own; ++t)
      barrier_expect(block.sums_there(block.rank + t * cluster), arriving);
  }

  /// Finishes o^T[64, 64] of chunk c and one of the block's tiles. `sums` are in wgmma's order.
  /// `own` says whether this block adds the tile up.
  __device__ __forceinline__ void finish(int c, int tile, bool own, float (&sums)[32]) const {
    const unsigned parity = c & 1;
    if (!own) {
      send(tile % cluster, tile, parity, c > 0, sums);
      return;
    }
    if constexpr (cluster > 1) receive(tile, parity, sums);
    const float scale = p_.base.scale;
    store(c, tile, [&](int at) { return pack(scale * sums[at], scale * sums[at + 1]); });
    if constexpr (cluster > 1) {
      // All threads have passed the last barrier of store(), so the received sums have been read.
      if (thread_ < cluster && thread_ != block_.rank)
        barrier_arrive_there(address_in(thread_, block_.sums_taken(tile)));
    }
  }
  /// round() and store_rounded() do the same in two steps, where nothing comes from other blocks.
  __device__ __forceinline__ void round(const float (&sums)[32], unsigned (&pairs)[16]) const {
    const float scale = p_.base.scale;
#pragma unroll
    for (int i = 0; i < 16; ++i) pairs[i] = pack(scale * sums[2 * i], scale * sums[2 * i + 1]);
  }
  __device__ __forceinline__ void store_rounded(int c, int tile,
                                                const unsigned (&pairs)[16]) const {
    store(c, tile, [&](int at) { return pairs[at / 2]; });
  }

 private:
  static constexpr int arriving = (cluster - 1) * layout.sum_bytes;
  /// Number of tiles that a warpgroup writes per chunk.
  static constexpr int written = layout.value_tiles > cluster ? layout.value_tiles / cluster : 1;

  /// Shared address of this thread's sums of a tile, sent by block `from`. Every 2048 bytes hold
  /// four of them.
  __device__ __forceinline__ unsigned sums_of(int tile, int from, int owner) const {
    const int place = tile / cluster * (cluster - 1) + (from > owner ? from - 1 : from);
    return block_.shared + layout.received + place * layout.sum_bytes + 16 * thread_;
  }

  __device__ __forceinline__ void send(int owner, int tile, unsigned parity, bool again,
                                       const float (&sums)[32]) const {
    if (again) barrier_wait(block_.sums_taken(tile), parity ^ 1u);
    const unsigned to = address_in(owner, sums_of(tile, block_.rank, owner));
    const unsigned there = address_in(owner, block_.sums_there(tile));
#pragma unroll
    for (int i = 0; i < 8; ++i)
      store_there(to + i * 2048, there, sums[4 * i], sums[4 * i + 1], sums[4 * i + 2],
                  sums[4 * i + 3]);
  }

  __device__ __forceinline__ void receive(int tile, unsigned parity, float (&sums)[32]) const {
    const unsigned there = block_.sums_there(tile);
    barrier_wait_cluster(there, parity);
    // Announces the next chunk's sums before the other blocks learn that this chunk's have been
    // read.
    if (thread_ == 0) barrier_expect(there, arriving);
#pragma unroll
    for (int i = 1; i < cluster; ++i) {
      const int other = i <= block_.rank ? i - 1 : i;
      const unsigned from = sums_of(tile, other, block_.rank);
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const float4 four = load_four(from + n * 2048);
        sums[4 * n] += four.x, sums[4 * n + 1] += four.y;
        sums[4 * n + 2] += four.z, sums[4 * n + 3] += four.w;
      }
    }
  }

  // --- to the tensor

  /// pair(at) gives elements `at` and `at` + 1, rounded.
  template <class Pair>
  __device__ __forceinline__ void store(int c, int tile, Pair pair) const {
    const bool leader = thread_ == 0;
    const unsigned place = block_.shared + layout.outputs + tile / cluster * layout.tile_bytes;
    if (leader) copies_read<written - 1>();
    named_barrier<128>(2 + group_);
#pragma unroll
    for (int n = 0; n < 8; n += 2) {
      const int token = 8 * (n + lane_ / 16) + lane_ % 8;
      const unsigned column = 32 * warp_ + lane_ / 8 % 2 * 16;
      store_transposed(place + swizzled(token, column), pair(4 * n), pair(4 * n + 2),
                       pair(4 * n + 4), pair(4 * n + 6));
    }
    const int valid = block_.valid(c), token = block_.first_token + c * layout.tokens;
    const int column = block_.first_value() + tile * layout.columns;
    if (trait::ragged != 0 && valid < layout.tokens) {
      named_barrier<128>(2 + group_);
      store_rows(place, valid, token, column);
      return;
    }
    publish_shared();
    named_barrier<128>(2 + group_);
    if (leader) {
      copy_out(p_.o, place, column, token, block_.head, block_.batch);
      copies_commit();
    }
  }

  /// Stores only the first rows of the tile, where a TMA copy would write into the next sequence.
  __device__ __forceinline__ void store_rows(unsigned place, int rows, int token,
                                             int column) const {
    auto* o = static_cast<__nv_bfloat16*>(p_.base.o);
    for (int i = thread_; i < rows * 32; i += 128) {
      const int row = i / 32, pair = i % 32;
      if (column + 2 * pair >= dim::value_dim) continue;  // V is even
      const TokenStrides& strides = output_strides(p_.base);
      auto* to = o + (token + row) * strides.seq + block_.head * strides.heads + column + 2 * pair;
      *reinterpret_cast<unsigned*>(to) = load_shared(place + swizzled(row, 4 * pair));
    }
  }

  const ChunkSm90Params& p_;
  const Block& block_;
  int group_, thread_, lane_, warp_;
};

}  // namespace gla_bench::linear_recurrence::sm90
