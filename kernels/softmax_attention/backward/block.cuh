#pragma once
// One block of a backward walk (walk.cuh): its rows and columns, their places in shared memory, and
// how they are loaded.

#include "device/async_copy.cuh"
#include "softmax_attention/backward/layout.h"
#include "softmax_attention/backward/sums.cuh"
#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// What a thread knows of its block. In a walk by keys the rows are keys and the columns queries,
/// else it is the other way round.
template <bool by_keys, bool adds_dq>
class BackwardBlock {
 public:
  static constexpr BackwardLayout at{{dim::key_dim, dim::value_dim, static_cast<int>(sizeof(io_t)),
                                      tile::block_n, tile::block_m, tile::warps, tile::stages,
                                      trait::decay, tile::sums, by_keys, adds_dq}};

  /// Where the block works.
  static __device__ __forceinline__ Place place(const AttentionParams& p) {
    return place_of<at.shape.rows>(p, blockIdx.x / at.slices, by_keys ? p.key_heads : p.heads,
                                   by_keys);
  }

  /// `params` are those of the place's sequence (backward_sequence()).
  __device__ __forceinline__ BackwardBlock(const AttentionParams& params, const Place& place,
                                           unsigned char* shared)
      : p_(params),
        shared_(shared),
        batch_(place.batch()),
        head_(by_keys ? place.head * trait::group : place.head),
        offset_(params.key_seq - params.seq),
        slice_(static_cast<int>(blockIdx.x % at.slices)) {
    const long long length = by_keys ? p_.key_seq : p_.seq;
    // The blocks with the most work start first: the first keys, or the last queries.
    const long long block = by_keys ? place.block : place.blocks - 1 - place.block;
    row0_ = block * at.shape.rows;
    rows_ = static_cast<int>(length - row0_ < at.shape.rows ? length - row0_ : at.shape.rows);
    if constexpr (scaled) {
      gain_ = gradient_gain(p_, batch_ * p_.key_heads + head_ / trait::group);
      loss_ = 1.0f / (score_gain * gain_);
    }
  }

 protected:
  static constexpr int tiles = at.tiles, columns = at.shape.columns, rows = at.shape.rows;
  static constexpr int threads = at.threads;

  const AttentionParams& p_;
  unsigned char* shared_;
  long long batch_ = 0, head_ = 0;  ///< head_ counts query heads
  long long row0_ = 0;
  long long offset_;  ///< from a query's index to its position among the keys
  int rows_ = 0, slice_ = 0;
  float gain_ = 1.0f, loss_ = 1.0f;  ///< the gain of dS where operands are float16, and its inverse

  __device__ __forceinline__ io_t* tile_at(int offset) const {
    return reinterpret_cast<io_t*>(shared_ + offset);
  }
  __device__ __forceinline__ io_t* column_keys(int stage) const {
    return tile_at(stage * at.stage);
  }
  __device__ __forceinline__ io_t* column_values(int stage) const {
    return tile_at(stage * at.stage + at.column_keys);
  }
  __device__ __forceinline__ float2* column_pairs(int stage) const {
    return reinterpret_cast<float2*>(shared_ + stage * at.stage + at.column_values);
  }
  __device__ __forceinline__ DecaySum* column_sums(int stage) const {
    return reinterpret_cast<DecaySum*>(shared_ + stage * at.stage + at.column_sums);
  }
  __device__ __forceinline__ DecaySum* row_sums() const {
    return reinterpret_cast<DecaySum*>(shared_ + at.row_sums);
  }
  __device__ __forceinline__ float2* terms() const {
    return reinterpret_cast<float2*>(shared_ + at.terms);
  }

  static __device__ __forceinline__ int lane() {
    return threadIdx.x % 32;
  }
  static __device__ __forceinline__ int warp_row() {
    return threadIdx.x / 32 * 16 * tiles;
  }
  /// The block's row that the thread holds as half `half` (0, 1) of its tile i; column_of does the
  /// same for element e (0, 1) of the 8-column group n.
  static __device__ __forceinline__ int row_of(int i, int half) {
    return warp_row() + 16 * i + 8 * half + lane() / 4;
  }
  static __device__ __forceinline__ int column_of(int n, int e) {
    return 8 * n + lane() % 4 * 2 + e;
  }

  /// The position among the keys of the block's first row, and of column tile n's first column.
  __device__ __forceinline__ long long row_position() const {
    return by_keys ? row0_ : row0_ + offset_;
  }
  __device__ __forceinline__ long long column_position(long long n) const {
    return n * columns + (by_keys ? offset_ : 0);
  }
  /// The token that the decays of the block's rows are relative to. Away from the diagonal, every
  /// row and every column lies on its proper side of this token.
  __device__ __forceinline__ long long reference() const {
    if (by_keys) return row0_ + rows_ - 1;
    return row_position() < 0 ? 0 : row_position();
  }

  /// Copies rows from `first` on into shared memory, from a tensor with K and a tensor with V
  /// columns.
  template <int count>
  __device__ __forceinline__ void copy(io_t* to_keys, io_t* to_values, bool queries, long long head,
                                       long long first, long long valid) {
    const TokenStrides& ks = queries ? p_.query_strides : p_.key_strides;
    const TokenStrides& vs = queries ? p_.output_strides : p_.value_strides;
    const auto* keys = static_cast<const io_t*>(queries ? p_.q : p_.k);
    const auto* values = static_cast<const io_t*>(queries ? p_.d_o : p_.v);
    const int left = static_cast<int>(valid < count ? valid : count);
    device::copy_rows_async<threads, count, at.key_ld - 8, at.key_ld, key_alignment>(
        to_keys, keys + batch_ * ks.batch + head * ks.heads + first * ks.seq, ks.seq, left,
        dim::key_dim);
    device::copy_rows_async<threads, count, at.value_ld - 8, at.value_ld, value_alignment>(
        to_values, values + batch_ * vs.batch + head * vs.heads + first * vs.seq, vs.seq, left,
        dim::value_dim);
  }

  __device__ __forceinline__ void load_rows() {
    copy<rows>(tile_at(at.row_keys), tile_at(at.row_values), !by_keys,
               by_keys ? head_ / trait::group : head_, row0_, rows_);
  }

  /// Copies this head's sums of decays, for positions from `first` on.
  template <int count>
  __device__ __forceinline__ void copy_sums(DecaySum* to, long long first) {
    const auto* sums = static_cast<const DecaySum*>(p_.work[work::decays]) +
                       (batch_ * p_.heads + head_) * p_.key_seq;
    for (int n = threadIdx.x; n < count; n += threads) {
      const bool valid = first + n >= 0 && first + n < p_.key_seq;
      device::copy_async<16>(to + n, valid ? sums + first + n : sums, valid);
    }
  }

  /// Loads column tile n: its rows of both tensors, the pairs (-lse, D) of queries and the sums of
  /// decays.
  __device__ __forceinline__ void load_columns(long long n, int stage) {
    const long long first = n * columns;
    const long long left = (by_keys ? p_.seq : p_.key_seq) - first;
    copy<columns>(column_keys(stage), column_values(stage), by_keys,
                  by_keys ? head_ : head_ / trait::group, first, left);
    if constexpr (by_keys) {
      const float2* pairs = query_pairs() + first;
      for (int c = threadIdx.x; c < columns; c += threads)
        device::copy_async<8>(column_pairs(stage) + c, c < left ? pairs + c : query_pairs(),
                              c < left);
    }
    if constexpr (trait::decay == 2) copy_sums<columns>(column_sums(stage), column_position(n));
    device::commit_copies();
  }

  __device__ __forceinline__ const float2* query_pairs() const {
    return static_cast<const float2*>(p_.work[work::pairs]) + (batch_ * p_.heads + head_) * p_.seq;
  }
};

}  // namespace gla_bench::softmax_attention
