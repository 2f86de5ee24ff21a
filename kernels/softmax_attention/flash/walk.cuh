#pragma once
// The walk of one block over keys: softmax(scale q k^T + bias) v for a tile of rows, by tiles of
// keys. Scores never leave the registers.
//
// The tensor cores write the scores of a tile into accumulators, which become the operand of the
// product with V without being moved. Exponents are in units of log2, relative to a reference of
// the row, which is its largest logit so far to within `slack`. The outputs are rescaled when a
// logit exceeds the reference by more than the slack, which is rare after the first tiles. The
// division happens once, at the end. FlashAttention-1 (FlashMode::divide) instead keeps the outputs
// divided, at every tile. FlashMode::fixed uses one reference for all rows and never rescales. Rows
// for which that does not work are found by their largest logit, and the walk is repeated with
// running references. The weight of a lone key, which is 1 relative to a running reference, is any
// number relative to a fixed one, and rounding it to 16 bits would be an error of the whole row. So
// a second sum, of the rounded weights, makes up for it.
//
// The walk takes keys in descending order, which for a causal row is from the diagonal back to the
// first key. K and V arrive by asynchronous copies. With two stages a tile is copied one step ahead
// (one barrier for each tile). With one stage it is copied as soon as the tile before it is no
// longer read (two barriers).
//
// Rows are the queries of a head. With `packed`, rows are the queries of all heads of a group, and
// the heads of one query are neighbours, so that a few queries fill a tile. Where warps_n > 1,
// warps share rows, each takes its own keys, and their parts are merged at the end. The results are
// handed to a sink object.

#include "softmax_attention/flash/scores.cuh"

namespace gla_bench::softmax_attention {

template <class Block>
struct FlashWalk : FlashScores<Block> {
  using Base = FlashScores<Block>;
  using typename Base::Queries;
  using typename Base::Scores;
  template <typename T>
  using OfRows = typename Base::template OfRows<T>;
  using Base::add_bias, Base::all_cut, Base::biased, Base::block_m, Base::block_n,
      Base::divide_outputs;
  using Base::Base;
  using Base::inverse, Base::keys_of, Base::lane, Base::last_row, Base::layout, Base::limit;
  using Base::load_keys, Base::load_queries, Base::load_values, Base::mask, Base::multiply_keys;
  using Base::multiply_values, Base::of_quad, Base::outputs, Base::p, Base::queries, Base::range;
  using Base::reference, Base::row_of, Base::row_tiles, Base::shared, Base::stages, Base::start;
  using Base::suits, Base::sum, Base::threads, Base::value_tiles, Base::values_of, Base::warp;
  using Base::warp_row, Base::warps_n;

  /// Walks, then gives the sink the divided outputs of each row and its log-sum-exp (in units of
  /// log2). `fixed_reference` (log2) is only for FlashMode::fixed.
  template <FlashMode mode, typename Sink>
  __device__ __forceinline__ void run(const Sink& sink, float fixed_reference = 0.0f) {
    load_queries();
    const bool suited = walk<mode>(fixed_reference);
    if constexpr (mode == FlashMode::fixed)
      if (__syncthreads_or(!suited)) walk<FlashMode::defer>(0.0f);
    if constexpr (warps_n == 1)
      finish<mode>(sink);
    else
      merge(sink);
  }

 private:
  /// Returns false where the fixed reference does not work for a row of this thread.
  template <FlashMode mode>
  __device__ __forceinline__ bool walk(float fixed_reference) {
    start(mode == FlashMode::fixed ? fixed_reference : device::minus_infinity());
    OfRows<float> top;  // the largest logit of a row, for a fixed reference
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) top[r][h] = device::minus_infinity();
    const int tiles = (limit(last_row()) + block_n - 1) / block_n;
    const int seen_by_all = limit(0);
    if (tiles > 0) {
      load_keys(tiles - 1, (tiles - 1) % stages);
      if constexpr (stages == 2) load_values(tiles - 1, (tiles - 1) % stages);
    }
    device::commit_copies();
    device::wait_copies<0>();
    __syncthreads();
    Queries q(queries() + warp_row() * layout.key_ld);
    for (int tile = tiles - 1; tile >= 0; --tile) {
      const int stage = tile % stages;
      device::wait_copies<0>();
      __syncthreads();  // this tile has arrived, and the one after it is no longer read
      if constexpr (biased)
        if (all_cut(tile, stage)) break;
      if constexpr (stages == 1) {
        load_values(tile, 0);
      } else if (tile > 0) {
        load_keys(tile - 1, stage ^ 1);
        load_values(tile - 1, stage ^ 1);
      }
      device::commit_copies();
      Scores scores = {};
      multiply_keys(scores, q, keys_of(stage));
      const bool full = (tile + 1) * block_n <= seen_by_all;
      if constexpr (biased)
        add_bias(scores, tile, stage, full);
      else if (!full)
        mask(scores, tile);
      Base::template exponentiate<mode>(scores, top);
      if constexpr (stages == 1) {
        device::wait_copies<0>();
        __syncthreads();  // the values have arrived, and the keys are no longer read
        if (tile > 0) load_keys(tile - 1, 0);
        device::commit_copies();
      }
      multiply_values(scores, values_of(stage));
      if constexpr (mode == FlashMode::divide) divide_outputs();
    }
    device::wait_copies<0>();
    if constexpr (mode == FlashMode::fixed && Base::rounds_weights) Base::undo_rounding();
    return mode != FlashMode::fixed || suits(top, fixed_reference);
  }

  /// log2 of the sum of the exponentials; -inf for a row that sees nothing.
  static __device__ __forceinline__ float log_sum(float reference, float sum) {
    return sum == 0.0f ? device::minus_infinity() : reference + log2f(sum);
  }
  template <typename T>
  static __device__ __forceinline__ void store(T* row, int column, float x, float y) {
    if constexpr (dim::value_dim % 2 == 0) {
      if (column < dim::value_dim) device::store_pair(row + column, x, y);
    } else {
      if (column < dim::value_dim) row[column] = device::from_float<T>(x);
      if (column + 1 < dim::value_dim) row[column + 1] = device::from_float<T>(y);
    }
  }

  template <FlashMode mode, typename Sink>
  __device__ __forceinline__ void finish(const Sink& sink) {
    const int last = last_row();
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float total = mode == FlashMode::divide ? sum[r][h] : of_quad(sum[r][h]);
        const float by = mode == FlashMode::divide ? 1.0f : inverse(total);
        const int row = row_of(r, h);
        if (row > last) continue;
        if (lane() % 4 == 0) sink.log_sum(range, row, log_sum(reference[r][h], total));
        auto* to = sink.row(range, row);
#pragma unroll
        for (int n = 0; n < value_tiles; ++n)
          store(to, 8 * n + lane() % 4 * 2, by * outputs[r][n][2 * h],
                by * outputs[r][n][2 * h + 1]);
      }
  }

  /// finish() where warps share rows: their parts are merged through shared memory.
  template <typename Sink>
  __device__ __forceinline__ void merge(const Sink& sink) {
    float* parts = reinterpret_cast<float*>(shared);
    float2* sums = reinterpret_cast<float2*>(shared + layout.partial_bytes);
    __syncthreads();
    const int part = warp() % warps_n;
#pragma unroll
    for (int r = 0; r < row_tiles; ++r)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = part * block_m + row_of(r, h);
        sums[row] = make_float2(reference[r][h], of_quad(sum[r][h]));
#pragma unroll
        for (int n = 0; n < value_tiles; ++n)
          device::store_pair(parts + row * layout.partial_ld + 8 * n + lane() % 4 * 2,
                             outputs[r][n][2 * h], outputs[r][n][2 * h + 1]);
      }
    __syncthreads();
    constexpr int pairs = layout.values / 2;
    for (int i = threadIdx.x; i < (last_row() + 1) * pairs; i += threads) {
      const int row = i / pairs, column = i % pairs * 2;
      float top = device::minus_infinity(), total = 0.0f;
#pragma unroll
      for (int w = 0; w < warps_n; ++w)
        if (sums[w * block_m + row].y != 0.0f) top = fmaxf(top, sums[w * block_m + row].x);
      float2 all = make_float2(0.0f, 0.0f);
#pragma unroll
      for (int w = 0; w < warps_n; ++w) {
        const int at = w * block_m + row;
        if (sums[at].y == 0.0f) continue;
        const float weight = device::exp2_fast(sums[at].x - top);
        const float2 x = device::load_pair(parts + at * layout.partial_ld + column);
        total += weight * sums[at].y;
        all.x += weight * x.x;
        all.y += weight * x.y;
      }
      if (column == 0) sink.log_sum(range, row, log_sum(top, total));
      const float by = inverse(total);
      store(sink.row(range, row), column, by * all.x, by * all.y);
    }
  }
};

}  // namespace gla_bench::softmax_attention
