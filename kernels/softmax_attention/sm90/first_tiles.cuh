#pragma once
// How far back decay attention has to look: the first tile of keys of every item of flash_sm90.
//
// A query gives the key at its own position the weight of their product, whatever the decays are.
// It gives another key at most the weight |q| |k| scale and the key's bias. Tiles from the first on
// are left out as long as what they could add up to is less than 2^-bits of the least weight that a
// query of the item gives its own key. The bound holds for all inputs: the largest q of the item,
// the largest k of each tile, and the largest bias of each tile. A tile is left out only if its
// largest bias is below -bits as well, so that keys and queries are not read where too little
// decays.
//
// The kernels of this file, and those of decay_sums.cuh before them, are a unit of their own, for
// the forward and the backward. attention_bounds looks at every key and query once. It finds each
// tile's largest norm and the sum of log decays that gives the largest bias, and what each item's
// queries have in common. For the forward it also forms the biases of each tile (key_biases.cuh).
// Grid: blocks of block_n tokens * batch * heads, 128 threads each. attention_first_tiles then
// finds each item's first tile, with one warp for each item. Bytes moved: q and k once (k once for
// each query head, through the L2 cache), and 32 bytes for each tile and 16 for each item, written
// and read; the sums of log decays once and the biases, 4 bytes for each key and query head.

#include "device/math.cuh"
#include "softmax_attention/decay_sums.cuh"
#include "softmax_attention/sm90/key_biases.cuh"
#include "softmax_attention/sm90/positions.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// Regions of the workspace: DecaySum [B,H,Tk], the totals that only decay_sums.cuh needs, the
/// first tile of each item, int [B,H,items], TileBound [B,H,tiles], ItemBound [B,H,items] and, for
/// the forward, KeyBiases [B,H,tiles].
inline constexpr int work_sums = 0, work_first_tiles = 2, work_tiles = 3, work_items = 4,
                     work_biases = 5;
/// Queries of an item, and keys of a tile.
inline constexpr int block_m = tile::block_m, block_n = tile::block_n;

/// What is left out is less than 2^-bits of a query's weights. Outputs in 16 bits show nothing
/// below 2^-12.
inline constexpr float bits = 24.0f;

/// What bounds the weights of a tile of keys, for one query head.
struct __align__(32) TileBound {
  DecaySum farthest;  ///< of the key with the largest bias
  float norm;         ///< the largest |k|; infinite where too little decays to leave it out
  float unused[3];
};

/// What the queries of an item have in common.
struct __align__(16) ItemBound {
  float largest;  ///< |q|; infinite like TileBound::norm
  float floor;    ///< the least logit (log2) of a query with its own key
  float gained;   ///< by how much (log2) a later query's bias exceeds the first one's
  float unused;
};

/// The later of two sums: with more resets, or with the smaller sum.
__device__ __forceinline__ bool later(const DecaySum& a, const DecaySum& b) {
  return a.resets != b.resets ? a.resets > b.resets : difference(a, b) < 0.0f;
}

/// A warp's part of a block of rows: groups of eight lanes have a row each.
struct RowReader {
  static constexpr int lanes = 8, rows_of_warp = 32 / lanes, warps = 4;
  static constexpr int access =
      device::widest_access(static_cast<int>(sizeof(io_t)) * key_alignment);
  static constexpr int each = access / static_cast<int>(sizeof(io_t));
  using Pack = device::Pack<io_t, each>;

  static __device__ __forceinline__ int first_row() {
    return static_cast<int>(threadIdx.x) / 32 * rows_of_warp + lane() / lanes;
  }
  static constexpr int rows_of_all = warps * rows_of_warp;

  /// Adds up the products of rows with themselves and with other rows. All loads of a step are on
  /// their way together.
  template <int rows>
  static __device__ __forceinline__ void products(const io_t* const (&x)[rows],
                                                  const io_t* const (&y)[rows],
                                                  float2 (&sums)[rows]) {
#pragma unroll
    for (int r = 0; r < rows; ++r) sums[r] = make_float2(0.0f, 0.0f);
#pragma unroll 2
    for (int i = lane() % lanes * each; i < dim::key_dim; i += lanes * each) {
      Pack a[rows], b[rows];
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        a[r] = *reinterpret_cast<const Pack*>(x[r] + i);
        b[r] = *reinterpret_cast<const Pack*>(y[r] + i);
      }
#pragma unroll
      for (int r = 0; r < rows; ++r)
#pragma unroll
        for (int e = 0; e < each; ++e) {
          const float own = device::to_float(a[r].value[e]);
          sums[r].x = fmaf(own, own, sums[r].x);
          sums[r].y = fmaf(own, device::to_float(b[r].value[e]), sums[r].y);
        }
    }
#pragma unroll
    for (int step = lanes / 2; step > 0; step /= 2)
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        sums[r].x += __shfl_xor_sync(0xffffffffu, sums[r].x, step);
        sums[r].y += __shfl_xor_sync(0xffffffffu, sums[r].y, step);
      }
  }
};

__device__ __forceinline__ float infinity() {
  return -device::minus_infinity();
}

__device__ __forceinline__ float largest_of_block(float x, float* warps) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
  __syncthreads();
  if (lane() == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  return fmaxf(fmaxf(warps[0], warps[1]), fmaxf(warps[2], warps[3]));
}

/// A head of one sequence.
struct Head : Positions {
  int sequence, batch, head, tiles, items;

  __device__ __forceinline__ Head(const AttentionParams& params, int its_sequence)
      : Positions{params},
        sequence(its_sequence),
        batch(sequence / static_cast<int>(p.heads)),
        head(sequence % static_cast<int>(p.heads)),
        tiles(static_cast<int>((p.key_seq + block_n - 1) / block_n)),
        items(static_cast<int>((p.seq + block_m - 1) / block_m)) {}

  __device__ __forceinline__ const io_t* key(int position) const {
    return static_cast<const io_t*>(p.k) + batch * p.key_strides.batch +
           head / trait::group * p.key_strides.heads + position * p.key_strides.seq;
  }
  __device__ __forceinline__ const io_t* query(int row) const {
    return static_cast<const io_t*>(p.q) + batch * p.query_strides.batch +
           head * p.query_strides.heads + row * p.query_strides.seq;
  }
  __device__ __forceinline__ const DecaySum& sum(int position) const {
    return static_cast<const DecaySum*>(p.work[work_sums])[sequence * p.key_seq + position];
  }
  __device__ __forceinline__ TileBound& tile_bound(int tile) const {
    return static_cast<TileBound*>(p.work[work_tiles])[1LL * sequence * tiles + tile];
  }
  __device__ __forceinline__ KeyBiases<block_n>& biases(int tile) const {
    return static_cast<KeyBiases<block_n>*>(p.work[work_biases])[1LL * sequence * tiles + tile];
  }
  __device__ __forceinline__ ItemBound& item_bound(int item) const {
    return static_cast<ItemBound*>(p.work[work_items])[1LL * sequence * items + item];
  }
};

/// Whether enough decays between a tile's farthest sum and a query to ask for more bounds.
__device__ __forceinline__ bool decayed(const DecaySum& query, const DecaySum& farthest) {
  return query.resets != farthest.resets || difference(query, farthest) < -bits;
}

/// The largest |k| of some keys.
__device__ __forceinline__ float largest_norm(const Head& head, int first, int keys, float* warps) {
  float largest = 0.0f;
  for (int i = RowReader::first_row(); i < block_n; i += 4 * RowReader::rows_of_all) {
    const io_t* rows[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int row = i + r * RowReader::rows_of_all;
      rows[r] = head.key(first + (row < keys ? row : keys - 1));
    }
    float2 sums_of_rows[4];
    RowReader::products(rows, rows, sums_of_rows);
#pragma unroll
    for (int r = 0; r < 4; ++r) largest = fmaxf(largest, sums_of_rows[r].x);
  }
  return sqrtf(largest_of_block(largest, warps));
}

/// Writes the biases of a tile. Those behind the last key are zero.
__device__ __forceinline__ void write_biases(const Head& head, int tile, int keys, float* warps) {
  const int first = tile * block_n;
  DecaySum end = head.sum(first + keys - 1);
  KeyBiases<block_n>& out = head.biases(tile);
  float largest = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < block_n; i += 128) {
    const float bias = i < keys ? bias_between(end, head.sum(first + i)) : 0.0f;
    largest = fmaxf(largest, fabsf(bias));
    out.bias[i] = bias;
  }
  end.unused = static_cast<int>(spread_of(largest_of_block(largest, warps)));
  if (threadIdx.x == 0) out.end = end;
}

__device__ __forceinline__ void bound_tile(const Head& head, int tile, float* warps,
                                           DecaySum* sums) {
  const int first = tile * block_n, left = static_cast<int>(head.p.key_seq) - first;
  const int keys = left < block_n ? left : block_n;
  if constexpr (tile::key_biases != 0) write_biases(head, tile, keys, warps);
  DecaySum farthest = head.sum(first);
  for (int i = static_cast<int>(threadIdx.x); i < keys; i += 128)
    if (later(head.sum(first + i), farthest)) farthest = head.sum(first + i);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const DecaySum other{__shfl_xor_sync(0xffffffffu, farthest.high, step),
                         __shfl_xor_sync(0xffffffffu, farthest.low, step),
                         __shfl_xor_sync(0xffffffffu, farthest.resets, step), 0};
    if (later(other, farthest)) farthest = other;
  }
  if (lane() == 0) sums[threadIdx.x / 32] = farthest;
  __syncthreads();
  farthest = sums[0];
  for (int w = 1; w < RowReader::warps; ++w)
    if (later(sums[w], farthest)) farthest = sums[w];
  // Of the queries behind the tile the last one is farthest away.
  const float norm = decayed(head.sum(static_cast<int>(head.p.key_seq) - 1), farthest)
                         ? largest_norm(head, first, keys, warps)
                         : infinity();
  if (threadIdx.x == 0) head.tile_bound(tile) = {farthest, norm, {}};
}

/// For an item whose first query stands at the position of a key.
__device__ __forceinline__ void bound_item(const Head& head, int item, float* warps) {
  const float factor = head.p.scale * device::log2_e;
  const int first = item * block_m, seq = static_cast<int>(head.p.seq);
  const int last = (first + block_m < seq ? first + block_m : seq) - 1;
  const DecaySum begin = head.sum(head.position(first));
  // Tiles are left out from the first one on, whose largest bias is that of its last key.
  const int keys = static_cast<int>(head.p.key_seq);
  if (!decayed(begin, head.sum((keys < block_n ? keys : block_n) - 1))) {
    if (threadIdx.x == 0)
      head.item_bound(item) = {infinity(), device::minus_infinity(), 0.0f, 0.0f};
    return;
  }
  float largest = 0.0f, least = device::minus_infinity();  // of minus the logit
  for (int i = RowReader::first_row(); i < block_m; i += 4 * RowReader::rows_of_all) {
    const io_t *queries[4], *keys[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int own = first + i + r * RowReader::rows_of_all, row = own < last ? own : last;
      queries[r] = head.query(row), keys[r] = head.key(head.position(row));
    }
    float2 sums[4];
    RowReader::products(queries, keys, sums);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      largest = fmaxf(largest, sums[r].x);
      least = fmaxf(least, -factor * sums[r].y);
    }
  }
  float gained = 0.0f;
  for (int row = first + static_cast<int>(threadIdx.x); row <= last; row += 128) {
    const DecaySum own = head.sum(head.position(row));
    if (own.resets == begin.resets) gained = fmaxf(gained, difference(own, begin));
  }
  const ItemBound bound{sqrtf(largest_of_block(largest, warps)), -largest_of_block(least, warps),
                        largest_of_block(gained, warps), 0.0f};
  if (threadIdx.x == 0) head.item_bound(item) = bound;
}

/// The number of tiles, of the `most` first ones, that an item can do without. Runs on one warp.
__device__ __forceinline__ int superfluous(const Head& head, int item, int most) {
  const ItemBound bound = head.item_bound(item);
  const DecaySum begin = head.sum(head.position(item * block_m));
  const float factor = fabsf(head.p.scale) * device::log2_e;
  float before = 0.0f;  // what the tiles before these add up to at most, relative to the floor
  for (int first = 0; first < most; first += 32) {
    float mine = 0.0f;
    if (const int tile = first + lane(); tile < most) {
      const TileBound its = head.tile_bound(tile);
      if (!decayed(begin, its.farthest))
        mine = infinity();
      else if (its.farthest.resets == begin.resets)
        mine = block_n *
               exp2f(fminf(bound.largest * its.norm * factor + difference(begin, its.farthest) +
                               bound.gained - (bound.floor - bits),
                           100.0f));
    }
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const float other = __shfl_up_sync(0xffffffffu, mine, step);
      if (lane() >= step) mine += other;
    }
    const unsigned needed = __ballot_sync(0xffffffffu, !(before + mine < 1.0f));
    if (needed != 0) {
      const int tile = first + __ffs(static_cast<int>(needed)) - 1;
      return tile < most ? tile : most;
    }
    before += __shfl_sync(0xffffffffu, mine, 31);
  }
  return most;
}

/// Runs on one warp for each item.
__device__ __forceinline__ void find_first_tile(const AttentionParams& p) {
  const int items = static_cast<int>((p.seq + block_m - 1) / block_m);
  const long long index = (1LL * blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (index >= p.batch * p.heads * items) return;
  const Head head(p, static_cast<int>(index / items));
  const int item = static_cast<int>(index % items), at = head.position(item * block_m);
  int first = 0;
  if (at >= 0) {
    // Tiles up to the first query's own key are seen whole by all queries. The tile of that key is
    // always walked over.
    first = superfluous(head, item, (at + 1) / block_n);
    first = first < at / block_n ? first : at / block_n;
  }
  if (lane() == 0) static_cast<int*>(p.work[work_first_tiles])[index] = first;
}

}  // namespace gla_bench::softmax_attention::sm90

extern "C" __global__ void __launch_bounds__(128)
    attention_bounds(const __grid_constant__ gla_bench::AttentionParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ float warps[4];
  __shared__ DecaySum sums[4];
  const long long most = p.seq > p.key_seq ? p.seq : p.key_seq;
  const int blocks = static_cast<int>((most + sm90::block_n - 1) / sm90::block_n);
  const int block = static_cast<int>(blockIdx.x) % blocks;
  const sm90::Head head(p, static_cast<int>(blockIdx.x) / blocks);
  if (block < head.tiles) sm90::bound_tile(head, block, warps, sums);
  // Items that begin among these tokens. Their own keys are among those just read where there are
  // as many keys as queries.
  const int begin = block * sm90::block_n, end = begin + sm90::block_n;
  for (int item = (begin + sm90::block_m - 1) / sm90::block_m;
       item < head.items && item * sm90::block_m < end; ++item)
    if (head.position(item * sm90::block_m) >= 0) sm90::bound_item(head, item, warps);
}

extern "C" __global__ void __launch_bounds__(128)
    attention_first_tiles(const __grid_constant__ gla_bench::AttentionParams p) {
  gla_bench::softmax_attention::sm90::find_first_tile(p);
}
