#pragma once
// The parts of one block of flash_decoding_sm90: its rows and keys, its places in shared memory,
// and the copies that fill them.

#include "device/bulk_copy.cuh"
#include "device/math.cuh"
#include "softmax_attention/decoding/layout.h"
#include "softmax_attention/flash/parts.cuh"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention::decoding {

using namespace device::sm90;

constexpr bool biased = trait::decay != 0;
constexpr int group = trait::group, block_n = tile::block_n, stages = tile::stages;
constexpr DecodingLayout layout{dim::key_dim, dim::value_dim, block_n,       tile::split,
                                tile::warps,  stages,         launch::biased};
static_assert(layout.bytes == launch::shared_bytes);

/// Regions of the workspace: with a decay the sums within tiles and the totals of tiles, then the
/// parts of the rows.
constexpr int work_sums = 0, work_totals = 1;
using Parts = SplitParts<biased ? 2 : 0>;
using Merge = SplitMerge<biased ? 2 : 0>;

struct DecodingParams {
  TensorMap k, v;
  AttentionParams base;
};

__device__ __forceinline__ int lane() {
  return static_cast<int>(threadIdx.x) % 32;
}
__device__ __forceinline__ int warp() {
  return static_cast<int>(threadIdx.x) / 32;
}

/// The rows and keys of a block. Rows are the queries of all heads of a group, and the heads of one
/// query are neighbours. Tiles of keys are walked over in descending order.
struct Item {
  int split, first_row, key_head, batch, first_key;
  int rows;   ///< that exist, at most layout.rows
  int tiles;  ///< that some row sees

  const AttentionParams& p;

  __device__ __forceinline__ explicit Item(const AttentionParams& params) : p(params) {
    const int splits = static_cast<int>((p.key_seq + tile::split - 1) / tile::split);
    const int all_rows = static_cast<int>(p.seq) * group;
    const int row_tiles = (all_rows + layout.rows - 1) / layout.rows;
    int rest = static_cast<int>(blockIdx.x);
    split = rest % splits, rest /= splits;
    first_row = rest % row_tiles * layout.rows, rest /= row_tiles;
    key_head = rest % static_cast<int>(p.key_heads), batch = rest / static_cast<int>(p.key_heads);
    first_key = split * tile::split;
    rows = all_rows - first_row < layout.rows ? all_rows - first_row : layout.rows;
    tiles = (limit(rows - 1) + block_n - 1) / block_n;
  }
  __device__ __forceinline__ int query(int row) const { return (first_row + row) / group; }
  __device__ __forceinline__ int head(int row) const {
    return key_head * group + (first_row + row) % group;
  }
  /// The number of keys of the block that a row sees; 0 for a row that does not exist.
  __device__ __forceinline__ int limit(int row) const {
    if (row >= rows) return 0;
    const int keys = static_cast<int>(p.key_seq);
    int end = first_key + tile::split < keys ? first_key + tile::split : keys;
    if constexpr (trait::causal != 0) {
      const int seen = query(row) + keys - static_cast<int>(p.seq) + 1;
      end = seen < end ? seen : end;
    }
    return end < first_key ? 0 : end - first_key;
  }
  __device__ __forceinline__ const io_t* q(int row) const {
    return static_cast<const io_t*>(p.q) + batch * p.query_strides.batch +
           head(row) * p.query_strides.heads + query(row) * p.query_strides.seq;
  }
  __device__ __forceinline__ const io_t* k(long long key) const {
    return static_cast<const io_t*>(p.k) + batch * p.key_strides.batch +
           key_head * p.key_strides.heads + key * p.key_strides.seq;
  }
  __device__ __forceinline__ const io_t* v(long long key) const {
    return static_cast<const io_t*>(p.v) + batch * p.value_strides.batch +
           key_head * p.value_strides.heads + key * p.value_strides.seq;
  }
};

/// Shared memory. Step n of the walk uses stage n % stages.
struct Memory {
  unsigned char* shared;

  __device__ __forceinline__ explicit Memory(unsigned char* unaligned)
      : shared(unaligned + (0u - shared_address(unaligned)) % 1024u) {}

  __device__ __forceinline__ unsigned char* keys(int step) const {
    return shared + step % stages * layout.key_tile;
  }
  __device__ __forceinline__ unsigned char* values(int step) const {
    return shared + layout.value_tiles + step % stages * layout.value_tile;
  }
  /// Of a row and the first key of its tile.
  __device__ __forceinline__ float* biases(int step, int row) const {
    return reinterpret_cast<float*>(shared + layout.bias_tiles + step % stages * layout.bias_tile) +
           row * block_n;
  }
  __device__ __forceinline__ unsigned barrier(int index) const {
    return shared_address(shared) + layout.barriers + 8 * index;
  }
  __device__ __forceinline__ unsigned keys_arrived(int step) const {
    return barrier(step % stages);
  }
  __device__ __forceinline__ unsigned values_arrived(int step) const {
    return barrier(stages + step % stages);
  }
  __device__ __forceinline__ unsigned free(int step) const {
    return barrier(2 * stages + step % stages);
  }
  static __device__ __forceinline__ unsigned parity(int step) { return step / stages & 1u; }
  /// What the bias of a row's keys has in common in the tile of a step.
  __device__ __forceinline__ float& offset(int row, int step) const {
    return reinterpret_cast<float*>(shared + layout.offsets)[row * layout.tiles + step];
  }
  /// The least logit (log2) of a row that matters.
  __device__ __forceinline__ float& floor(int row) const {
    return reinterpret_cast<float*>(shared + layout.floors)[row];
  }
  /// Steps of the walk, and those among them whose values are copied ahead.
  __device__ __forceinline__ int* needed() const {
    return reinterpret_cast<int*>(shared + layout.needed);
  }

  __device__ __forceinline__ void init() const {
    for (int i = 0; i < 2 * stages; ++i) barrier_init(barrier(i), 1);
    for (int i = 0; i < stages; ++i) barrier_init(free(i), layout.warps);
    needed()[0] = needed()[1] = 0;
    barrier_init_fence();
    publish_shared();
  }
};

/// Keeps the ring filled. Runs on one thread.
__device__ __forceinline__ void load_tiles(const DecodingParams& p, const Item& item,
                                           const Memory& memory, int steps, int steps_with_values) {
  for (int step = 0; step < steps; ++step) {
    const int tile = item.tiles - 1 - step, key = item.first_key + tile * block_n;
    if (step >= stages) barrier_wait(memory.free(step), memory.parity(step) ^ 1u);
    const unsigned keys = shared_address(memory.keys(step)), arrived = memory.keys_arrived(step);
    const int biases = biased ? item.rows : 0;
    barrier_expect(arrived, layout.key_tile + biases * block_n * 4);
    for (int i = 0; i < layout.key_panels; ++i)
      copy_in(keys + i * layout.panel, p.k, arrived, i * layout.columns, key, item.key_head,
              item.batch);
    if constexpr (biased) {
      const long long tiles = (p.base.key_seq + block_n - 1) / block_n;
      const float* sums = static_cast<const float*>(p.base.work[work_sums]);
      for (int row = 0; row < biases; ++row)
        copy_bytes_in(
            shared_address(memory.biases(step, row)),
            sums + ((item.batch * p.base.heads + item.head(row)) * tiles + key / block_n) * block_n,
            block_n * 4, arrived);
    }
    if (step >= steps_with_values) continue;
    const unsigned values = shared_address(memory.values(step));
    barrier_expect(memory.values_arrived(step), layout.value_tile);
    for (int i = 0; i < layout.value_panels; ++i)
      copy_in(values + i * layout.panel, p.v, memory.values_arrived(step), i * layout.columns, key,
              item.key_head, item.batch);
  }
}

}  // namespace gla_bench::softmax_attention::decoding
