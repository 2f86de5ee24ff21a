#pragma once
// The parts of one block of a flash walk (walk.cuh): its rows and keys, their places in shared
// memory, the copies that load them, and the queries as operands.
//
// Rows are the queries of a head. With `packed`, rows are the queries of all heads of a group, and
// the heads of one query are neighbours. Then even a few queries fill a tile.
//
// Paged keys come in pieces of a tile that lie in one page. Tiles begin at multiples of block_n, so
// that a page of block_n keys and more holds a whole one.

#include "device/async_copy.cuh"
#include "device/products.cuh"
#include "softmax_attention/decay_bias.cuh"
#include "softmax_attention/flash/layout.h"
#include "softmax_attention/paged.cuh"
#include "softmax_attention/params.h"
#include "softmax_attention/traits.cuh"

namespace gla_bench::softmax_attention {

template <typename T, int terms>
struct AttentionProductsOf {
  using type = device::SixteenBitProducts<T>;
};
template <int terms>
struct AttentionProductsOf<float, terms> {
  using type = device::Tf32Products<terms>;
};

/// How attention multiplies. 16-bit problems use their own format (probabilities are at most
/// 2^slack). float32 problems use tf32 or, with three terms, products close to float32.
template <typename T, int terms>
using AttentionProducts = typename AttentionProductsOf<T, terms>::type;

/// Which rows and keys a block owns.
struct FlashRange {
  long long batch, key_head;
  long long head;       ///< the first head, whose row comes first for each query
  long long first_row;  ///< counted among rows(): T, or T * group where packed
  long long first_key, end_key;
};

template <int terms, int rows_of_block, int keys_of_tile, int warps_along_rows,
          int warps_along_keys, int tiles_held, bool packed>
struct FlashBlock {
  using Ops = AttentionProducts<io_t, terms>;
  static constexpr int block_m = rows_of_block, block_n = keys_of_tile, stages = tiles_held;
  static constexpr int warps_m = warps_along_rows, warps_n = warps_along_keys;
  static constexpr bool biased = trait::decay != 0;
  static constexpr FlashLayout layout{{dim::key_dim, dim::value_dim, sizeof(io_t), block_m, block_n,
                                       warps_m, warps_n, stages, biased}};
  static constexpr int threads = layout.threads;
  static constexpr int row_tiles = layout.row_tiles, column_tiles = layout.column_tiles;
  static constexpr int value_tiles = layout.values / 8, key_steps = layout.keys / Ops::depth;
  static constexpr int warp_columns = 8 * column_tiles;
  static constexpr int group = packed ? trait::group : 1;
  static_assert(row_tiles * 16 * warps_m == block_m && column_tiles % 2 == 0);
  static_assert(column_tiles * 8 * warps_n == block_n && !(packed && biased));

  using Scores = float[row_tiles][column_tiles][4];
  using Outputs = float[row_tiles][value_tiles][4];
  /// One value for each of the thread's rows: [tile][upper or lower half].
  template <typename T>
  using OfRows = T[row_tiles][2];

  const AttentionParams& p;
  FlashRange range;
  unsigned char* shared;
  const io_t *k, *v;  // the range's first key and its value; of paged keys the pool's, of the head

  __device__ __forceinline__ FlashBlock(const AttentionParams& params, const FlashRange& its_range,
                                        unsigned char* its_shared)
      : p(params),
        range(its_range),
        shared(its_shared),
        k(static_cast<const io_t*>(p.k) + row_of_batch(p.key_strides) +
          range.key_head * p.key_strides.heads + first_row(p.key_strides)),
        v(static_cast<const io_t*>(p.v) + row_of_batch(p.value_strides) +
          range.key_head * p.value_strides.heads + first_row(p.value_strides)) {}

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ __forceinline__ int warp() { return static_cast<int>(threadIdx.x) / 32; }
  static __device__ __forceinline__ int warp_row() { return warp() / warps_n * 16 * row_tiles; }
  static __device__ __forceinline__ int warp_column() { return warp() % warps_n * warp_columns; }
  /// The block's row that the thread holds in this tile and half.
  static __device__ __forceinline__ int row_of(int tile, int half) {
    return warp_row() + 16 * tile + 8 * half + lane() / 4;
  }
  static __device__ __forceinline__ int column_of(int tile, int i) {
    return warp_column() + 8 * tile + lane() % 4 * 2 + i % 2;
  }

  __device__ __forceinline__ io_t* queries() const { return reinterpret_cast<io_t*>(shared); }
  __device__ __forceinline__ io_t* keys_of(int stage) const {
    return reinterpret_cast<io_t*>(shared + layout.key_tiles + stage * layout.key_tile);
  }
  __device__ __forceinline__ io_t* values_of(int stage) const {
    return reinterpret_cast<io_t*>(shared + layout.value_tiles + stage * layout.value_tile);
  }
  __device__ __forceinline__ DecaySum* row_sums() const {
    return reinterpret_cast<DecaySum*>(shared + layout.row_sums);
  }
  __device__ __forceinline__ DecaySum* key_sums(int stage) const {
    return reinterpret_cast<DecaySum*>(shared + layout.key_sums) + stage * block_n;
  }

  // Rows

  __device__ __forceinline__ long long rows() const { return p.seq * group; }
  /// The position of a row's query among the keys.
  __device__ __forceinline__ long long position(int row) const {
    return (range.first_row + row) / group + p.key_seq - p.seq;
  }
  /// One past the last key that a row sees, relative to range.first_key and at least 0.
  __device__ __forceinline__ int limit(int row) const {
    long long end = range.end_key;
    if constexpr (trait::causal != 0) {
      const long long next = position(row) + 1;
      end = next < end ? next : end;
    }
    if (range.first_row + row >= rows()) end = range.first_key;
    return end < range.first_key ? 0 : static_cast<int>(end - range.first_key);
  }
  /// The last row of the block that exists.
  __device__ __forceinline__ int last_row() const {
    const long long left = rows() - range.first_row;
    return (left < block_m ? static_cast<int>(left) : block_m) - 1;
  }

  // Copies

  __device__ __forceinline__ void load_queries() const {
    const io_t* q = static_cast<const io_t*>(p.q) + range.batch * p.query_strides.batch +
                    range.head * p.query_strides.heads;
    if constexpr (group == 1) {
      device::copy_rows_async<threads, block_m, layout.keys, layout.key_ld, key_alignment>(
          queries(), q + range.first_row * p.query_strides.seq, p.query_strides.seq, last_row() + 1,
          dim::key_dim);
    } else {
      for (int i = threadIdx.x; i < block_m * layout.keys; i += threads) {
        const int row = i / layout.keys, column = i % layout.keys;
        const long long at = (range.first_row + row) / group * p.query_strides.seq +
                             (range.first_row + row) % group * p.query_strides.heads + column;
        const bool valid = row <= last_row() && column < dim::key_dim;
        queries()[row * layout.key_ld + column] = valid ? q[at] : device::from_float<io_t>(0.0f);
      }
    }
    if constexpr (biased) {
      for (int row = threadIdx.x; row < block_m; row += threads) {
        const bool valid = row <= last_row() && position(row) >= 0;
        device::copy_async<16>(row_sums() + row, decay_sums() + (valid ? position(row) : 0), valid);
      }
    }
  }
  __device__ __forceinline__ const DecaySum* decay_sums() const {
    return static_cast<const DecaySum*>(p.work[0]) +
           (range.batch * p.heads + range.head) * p.key_seq;
  }
  __device__ __forceinline__ int valid_keys(int tile) const {
    const long long left = range.end_key - range.first_key - 1LL * tile * block_n;
    return left < block_n ? static_cast<int>(left) : block_n;
  }
  /// Where the range's batch is in k or v, and its first key behind that. Paged keys have neither.
  __device__ __forceinline__ long long row_of_batch(const TokenStrides& strides) const {
    return trait::page_size != 0 ? 0 : range.batch * strides.batch;
  }
  __device__ __forceinline__ long long first_row(const TokenStrides& strides) const {
    return trait::page_size != 0 ? 0 : range.first_key * strides.seq;
  }
  /// Copies a tile of k or v. Rows behind the range become zeros and are not read.
  template <int columns, int ld, int alignment>
  __device__ __forceinline__ void load_tile(io_t* to, const io_t* from, const TokenStrides& strides,
                                            int tile, int width) const {
    if constexpr (trait::page_size == 0) {
      device::copy_rows_async<threads, block_n, columns, ld, alignment>(
          to, from + tile * (block_n * strides.seq), strides.seq, valid_keys(tile), width);
    } else {
      constexpr int piece = trait::page_size < block_n ? trait::page_size : block_n;
#pragma unroll 1
      for (int first = 0; first < block_n; first += piece) {
        const int valid = valid_keys(tile) - first;
        const long long key = range.first_key + 1LL * tile * block_n + first;
        device::copy_rows_async<threads, piece, columns, ld, alignment>(
            to + first * ld, valid > 0 ? from + row_of_key(p, strides, 0, key) : from, strides.seq,
            valid, width);
      }
    }
  }
  __device__ __forceinline__ void load_keys(int tile, int stage) const {
    load_tile<layout.keys, layout.key_ld, key_alignment>(keys_of(stage), k, p.key_strides, tile,
                                                         dim::key_dim);
    if constexpr (biased) {
      const DecaySum* sums = decay_sums() + range.first_key + 1LL * tile * block_n;
      for (int n = threadIdx.x; n < block_n; n += threads) {
        const bool valid = n < valid_keys(tile);
        device::copy_async<16>(key_sums(stage) + n, valid ? sums + n : sums, valid);
      }
    }
  }
  __device__ __forceinline__ void load_values(int tile, int stage) const {
    load_tile<layout.values, layout.value_ld, value_alignment>(values_of(stage), v, p.value_strides,
                                                               tile, dim::value_dim);
  }

  /// The queries as operands. They stay in registers for the whole walk, or are loaded again in
  /// every step where registers do not suffice.
  struct Queries {
    static constexpr bool held = layout.queries_in_registers;
    typename Ops::A a[row_tiles][held ? key_steps : 1];
    const io_t* rows;

    __device__ __forceinline__ explicit Queries(const io_t* first) : rows(first) {
      if constexpr (held)
#pragma unroll
        for (int step = 0; step < key_steps; ++step) read(step, step);
    }
    __device__ __forceinline__ void read(int step, int place) {
#pragma unroll
      for (int r = 0; r < row_tiles; ++r)
        a[r][place] =
            Ops::load_raw_rows(rows + 16 * r * layout.key_ld + step * Ops::depth, layout.key_ld);
    }
    /// The index in `a` of a step's operands.
    __device__ __forceinline__ int place(int step) {
      if constexpr (held) return step;
      read(step, 0);
      return 0;
    }
  };
};

}  // namespace gla_bench::softmax_attention
