#pragma once
// Sizes of the backward attention kernels, stated once for the kernels and for their host side. The
// file includes nothing and defines no functions, because NVRTC treats a plain function as host
// code.

namespace gla_bench::softmax_attention {

/// The choices that determine the sizes of a walk (walk.cuh). Rows are the tokens that a block
/// owns. Columns are the tokens that it visits, one tile in each step.
struct BackwardShape {
  int key_dim, value_dim, io_bytes;
  int rows;     ///< 16 or 32 for each warp
  int columns;  ///< a multiple of 16
  int warps;
  int stages;    ///< column tiles in shared memory: with 2, the next one loads during this one
  int decay;     ///< trait::decay
  int sums;      ///< floats a thread may hold: scores, their gradients and its results
  bool by_keys;  ///< rows are keys (dk, dv in registers), else queries (dq in registers)
  bool adds_dq;  ///< dq is summed in device memory; each step's part passes through shared
};

/// Sizes in elements, and byte offsets into the block's shared memory. Use it as
/// BackwardLayout{shape}. Everything is a default member value, because NVRTC accepts only device
/// functions.
struct BackwardLayout {
  BackwardShape shape;

  int threads = 32 * shape.warps;
  int tiles = shape.rows / 16 / shape.warps;  ///< row tiles of 16 rows, for each warp

  // The columns of the results are cut into slices so that a thread's sums fit its registers. A
  // block owns one slice and computes all scores for it.
  int scores = tiles * shape.columns;  ///< floats for a thread's scores and gradients
  int most = shape.sums - scores < 16 ? 16 : shape.sums - scores;
  int widths =
      ((shape.key_dim + 15) / 16 + (shape.by_keys ? (shape.value_dim + 15) / 16 : 0)) * 8 * tiles;
  int slices = widths > most ? (widths + most - 1) / most : 1;
  int key_columns = ((shape.key_dim + slices - 1) / slices + 15) / 16 * 16;
  int value_columns = ((shape.value_dim + slices - 1) / slices + 15) / 16 * 16;
  int accumulators = scores + tiles * (key_columns + (shape.by_keys ? value_columns : 0)) / 2;

  int key_ld = key_columns * slices + 8;
  int value_ld = value_columns * slices + 8;
  int gradient_ld = shape.columns + 8;

  // A stage holds two tiles of the columns (q and do, or k and v) and a pair of floats for each
  // column. Where decays vary it also holds the sum of log decays of each column.
  int column_keys = shape.columns * key_ld * shape.io_bytes;
  int column_values = column_keys + shape.columns * value_ld * shape.io_bytes;
  int column_sums = column_values + shape.columns * 8;
  int stage = column_sums + (shape.decay == 2 ? shape.columns * 16 : 0);

  int row_keys = shape.stages * stage;
  int row_values = row_keys + shape.rows * key_ld * shape.io_bytes;
  int row_sums = row_values + shape.rows * value_ld * shape.io_bytes;
  int terms = row_sums + (shape.decay == 2 ? shape.rows * 16 : 0);
  int gradient = terms + (shape.decay != 0 ? shape.columns * 8 : 0);
  int bytes = gradient + (shape.adds_dq ? shape.rows * gradient_ld * shape.io_bytes : 0);

  // Which warp computes which part of a step's dq [columns, key_columns]: warps are assigned to row
  // tiles and to groups of 16 columns. Device memory holds dq as the warps' accumulators, one after
  // the other.
  int dq_warp_rows = shape.columns / 16 < 2             ? 1
                     : shape.columns / 32 < shape.warps ? shape.columns / 32
                                                        : shape.warps;
  int dq_tiles = shape.columns / 16 / dq_warp_rows;
  int dq_warp_columns = shape.warps / dq_warp_rows;
  int dq_groups = (key_columns / 16 + dq_warp_columns - 1) / dq_warp_columns;
  int dq_floats = shape.warps * dq_tiles * dq_groups * 256;  ///< of one step and slice
};

/// How the rows of o and do are assigned to lanes in the kernel that runs before the walk.
struct BackwardRows {
  int value_dim, io_bytes;

  static constexpr int threads = 256;  ///< of one block
  int row_bytes = value_dim * io_bytes;
  int access = row_bytes % 16 == 0  ? 16
               : row_bytes % 8 == 0 ? 8
               : row_bytes % 4 == 0 ? 4
                                    : io_bytes;
  int packs = row_bytes / access;
  int lanes = packs > 16 ? 32 : packs > 8 ? 16 : packs > 4 ? 8 : packs > 2 ? 4 : packs;
  int rows = threads / lanes;  ///< of one block
};

/// Threads of a block that scans or sums over a whole sequence.
inline constexpr int backward_scan_threads = 1024;

}  // namespace gla_bench::softmax_attention
