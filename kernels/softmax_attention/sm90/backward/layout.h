#pragma once
// Shared memory of the backward of flash_sm90 (flash_sm90.cuh), for the kernel and for the host
// code that asks for it. Includes no standard headers, because NVRTC has none.

#include "kernels/softmax_attention/sm90/layout.h"

#if defined(__CUDACC__)
#define GLA_BENCH_EVERYWHERE __host__ __device__
#else
#define GLA_BENCH_EVERYWHERE
#endif

namespace gla_bench::softmax_attention {

/// Columns of dk, dv or dq, and which of them each of two consumers has sums of: all, or its share
/// of them. A product is as wide as they are, rounded up to what there is. Where consumers divide
/// three panels, one has two of them, so that it is given the one panel of another result.
struct BackwardSm90Columns {
  int second;                     ///< where the second consumer's columns begin
  int first_width, second_width;  ///< of a product of the first consumer, and of the second one
  int most;                       ///< the larger one of these
  bool shares_panel;              ///< whether both have columns of the same panel

  /// `divided`: whether consumers divide the columns. `most_to_first`: of three panels. No product
  /// reaches into a panel that it does not begin at, unless it ends there.
  GLA_BENCH_EVERYWHERE constexpr BackwardSm90Columns(int columns, bool divided,
                                                     bool most_to_first = false)
      : second(!divided         ? 0
               : columns <= 64  ? 32
               : columns <= 128 ? 64
               : columns <= 192 ? (most_to_first ? 128 : 64)
                                : 128),
        first_width(0),
        second_width(FlashSm90Layout{1, columns - second, 1, 64, 1, false}.values),
        most(0),
        shares_panel(divided && columns <= 64) {
    first_width = divided ? second : second_width;
    most = first_width > second_width ? first_width : second_width;
  }
};

/// Offsets, bytes and counts follow from what it is made of. A panel is 64 columns of a tile,
/// in rows of 128 bytes, as bulk copies with the 128-byte swizzle write them.
struct BackwardSm90Layout {
  int key_dim, value_dim;  ///< K, V: up to 256
  int block_m;             ///< queries of a step: 64 or 128
  int stages;              ///< steps of queries in shared memory
  int decay;               ///< trait::decay
  bool ordered;            ///< whether parts of dq are added in order
  bool whole;              ///< whether a block has all keys, so that its part of dq is all of dq

  GLA_BENCH_EVERYWHERE constexpr BackwardSm90Layout(int its_key_dim, int its_value_dim,
                                                    int its_block_m, int its_stages, int its_decay,
                                                    bool is_ordered = false, bool is_whole = false)
      : key_dim(its_key_dim),
        value_dim(its_value_dim),
        block_m(its_block_m),
        stages(its_stages),
        decay(its_decay),
        ordered(is_ordered),
        whole(is_whole) {}

  static constexpr int columns = 64;        ///< of a panel
  static constexpr int consumers = 2;       ///< warpgroups that multiply
  static constexpr int rows = 64;           ///< keys of a consumer
  static constexpr int threads = 384;       ///< of a block: one more warpgroup loads
  static constexpr int side_threads = 256;  ///< of a block of the kernels before and after
  static constexpr int slice_rows = 16;     ///< of dk or dv of which one block adds up all parts

  /// Whether consumers divide the columns of dk, dv and dq, because a thread has no room for sums
  /// of all. Both then have all keys and form the same scores. Otherwise they divide the keys.
  bool by_columns = key_dim > 128 || value_dim > 128;
  int block_n = by_columns ? rows : rows * consumers;  ///< keys of a block

  int key_panels = (key_dim + columns - 1) / columns;
  int value_panels = (value_dim + columns - 1) / columns;
  int key_width = key_panels * columns, value_width = value_panels * columns;
  int query_panels = block_m / columns;
  BackwardSm90Columns dk{key_dim, by_columns}, dv{value_dim, by_columns, true};
  /// Consumers have the same 64 queries of dq, and divide its columns, or each has half of 128.
  bool dq_by_columns = block_m == 64;
  BackwardSm90Columns dq{key_dim, dq_by_columns};
  /// Whether what either consumer does is as wide as what the other does.
  bool alike = dk.first_width == dk.second_width && dv.first_width == dv.second_width &&
               dq.first_width == dq.second_width;
  /// Sums of a step's dq that the threads of both consumers have.
  int step_floats = (dq.first_width + dq.second_width) / 2 * 128;

  int key_panel = block_n * 128;    ///< bytes of a panel of keys, values or dS
  int query_panel = block_m * 128;  ///< bytes of a panel of queries or do
  int arriving_keys = (key_panels + value_panels) * key_panel;
  int arriving_queries = key_panels * query_panel;
  int arriving_gradients = value_panels * query_panel;
  int gradient_bytes = query_panels * key_panel;  ///< dS of a step

  int values = key_panels * key_panel;
  int queries = values + value_panels * key_panel;          ///< [stages]
  int d_outputs = queries + stages * arriving_queries;      ///< [stages]
  int gradients = d_outputs + stages * arriving_gradients;  ///< dS of two steps
  /// A step's sums of dq: those of the first consumer's threads, then those of the second one's.
  /// Wide sums are added from registers where the order varies, and all of dq is stored from there.
  int dq_at = gradients + 2 * gradient_bytes;
  bool dq_in_shared = !whole && (ordered || !by_columns);
  /// What queries bring with them (queries.cuh): with a decay 16 bytes for the step, 8 for each
  /// query, and 16 more with a decay, which only some steps need.
  int pairs_at = decay != 0 ? 16 : 0, sums_at = pairs_at + 8 * block_m;
  int record_bytes = sums_at + (decay != 0 ? 16 * block_m : 0);
  int records = dq_at + (dq_in_shared ? step_floats * 4 : 0);  ///< [stages]
  /// Sums of dS over a warp's keys, float [2][sum_warps][block_m], where decays vary.
  int sum_warps = block_n / 16;
  int query_sums = records + stages * record_bytes;
  int barriers = query_sums + (decay == 2 ? 2 * sum_warps * block_m * 4 : 0);
  /// One for the keys and values; for each stage: queries and gradients there, queries and
  /// gradients free; for each of two steps: dS there, dS free.
  int barrier_count = 1 + 4 * stages + 4;
  int bytes = barriers + barrier_count * 8 + 1024;  ///< 1024: to align

  /// Sums of dk and dv that a thread of each consumer has, and those of a block.
  int first_floats = (dk.first_width + dv.first_width) / 2;
  int second_floats = (dk.second_width + dv.second_width) / 2;
  int block_floats = (first_floats + second_floats) * 128;
  /// Registers of a consumer's thread for its sums and scores.
  int accumulators = (first_floats > second_floats ? first_floats : second_floats) + block_m;
  /// Whether sums of dq have room beside them while both are multiplied.
  bool dq_beside = accumulators + dq.most / 2 <= 224;
};

}  // namespace gla_bench::softmax_attention

#undef GLA_BENCH_EVERYWHERE
