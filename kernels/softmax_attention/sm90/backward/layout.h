#pragma once
// Shared memory of the backward of flash_sm90 (flash_sm90.cuh), for the kernel and for the host
// code that asks for it. Includes no standard headers, because NVRTC has none.

namespace gla_bench::softmax_attention {

/// Offsets, bytes and counts follow from the first seven members. A panel is 64 columns of a tile,
/// in rows of 128 bytes, as bulk copies with the 128-byte swizzle write them.
struct BackwardSm90Layout {
  int key_dim, value_dim;  ///< K, V: up to 256
  int block_m;             ///< queries of a step: 64 or 128
  int stages;              ///< steps of queries in shared memory
  int decay;               ///< trait::decay
  bool ordered = false;    ///< whether parts of dq are added in order
  bool whole = false;      ///< whether a block has all keys, so that its part of dq is all of dq

  static constexpr int columns = 64;         ///< of a panel
  static constexpr int consumers = 2;        ///< warpgroups that multiply
  static constexpr int rows = 64;            ///< keys of a consumer
  static constexpr int threads = 384;        ///< of a block: one more warpgroup loads
  static constexpr int side_threads = 256;   ///< of a block of the kernels before and after
  static constexpr int slice_rows = 16;      ///< of dk or dv of which one block adds up all parts

  /// Whether consumers divide the columns of dk, dv and dq, because a thread has no room for sums
  /// of all. Both then have all keys and form the same scores. Otherwise they divide the keys.
  bool by_columns = key_dim > 128 || value_dim > 128;
  int block_n = by_columns ? rows : rows * consumers;  ///< keys of a block

  int key_panels = (key_dim + columns - 1) / columns;
  int value_panels = (value_dim + columns - 1) / columns;
  int key_width = key_panels * columns, value_width = value_panels * columns;
  int query_panels = block_m / columns;
  /// Panels of dk and dv that a consumer has sums of. Those of the second one are the last ones;
  /// the first of them may be the first one's last.
  int own_key_panels = by_columns ? (key_panels + 1) / 2 : key_panels;
  int own_value_panels = by_columns ? (value_panels + 1) / 2 : value_panels;
  int own_key_width = own_key_panels * columns, own_value_width = own_value_panels * columns;
  /// Whether consumers have the same queries of dq, each half of its columns. Otherwise each has
  /// half of the queries.
  bool dq_by_columns = block_m == 64;
  /// Sums of dq that a thread has of each step.
  int dq_floats = by_columns ? block_m * own_key_width / 128 : block_m * key_width / 256;
  int step_floats = dq_floats * 128 * consumers;

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
  /// Float [consumers][128][dq_floats]. Wide sums are added from registers where the order varies,
  /// and all of dq is stored from there.
  int dq = gradients + 2 * gradient_bytes;
  bool dq_in_shared = !whole && (ordered || !by_columns);
  /// What queries bring with them (queries.cuh): with a decay 16 bytes for the step, 8 for each
  /// query, and 16 more with a decay, which only some steps need.
  int pairs_at = decay != 0 ? 16 : 0, sums_at = pairs_at + 8 * block_m;
  int record_bytes = sums_at + (decay != 0 ? 16 * block_m : 0);
  int records = dq + (dq_in_shared ? step_floats * 4 : 0);  ///< [stages]
  /// Sums of dS over a warp's keys, float [2][sum_warps][block_m], where decays vary.
  int sum_warps = block_n / 16;
  int query_sums = records + stages * record_bytes;
  int barriers = query_sums + (decay == 2 ? 2 * sum_warps * block_m * 4 : 0);
  /// One for the keys and values; for each stage: queries and gradients there, queries and
  /// gradients free; for each of two steps: dS there, dS free.
  int barrier_count = 1 + 4 * stages + 4;
  int bytes = barriers + barrier_count * 8 + 1024;  ///< 1024: to align

  /// Sums of dk and dv that a thread has, and those of a block.
  int result_floats = (own_key_width + own_value_width) / 2;
  int block_floats = result_floats * 128 * consumers;
  /// Registers of a consumer's thread for its sums and scores.
  int accumulators = result_floats + block_m;
};

}  // namespace gla_bench::softmax_attention
