#pragma once
// Sizes of the backward kernels of attention, stated once for the kernels and for their host side.
// Includes nothing, has no function: NVRTC takes a plain one for host code.

namespace gla_bench::softmax_attention {

/// What decides the sizes of a walk (walk.cuh). Rows are the tokens that a block owns,
/// columns the tokens that it meets in one step.
struct BackwardShape {
  int key_dim, value_dim, io_bytes;
  int rows;     ///< 16 or 32 to a warp
  int columns;  ///< a multiple of 16
  int warps;
  int stages;    ///< column tiles in shared memory: 2 loads the next one during the current one
  int decay;     ///< trait::decay
  int sums;      ///< floats that a thread may hold: scores, their gradients and its results
  bool by_keys;  ///< rows are keys (dk and dv in registers), else queries (dq in registers)
  bool adds_dq;  ///< dq is added up in device memory: each step's gradient passes through shared
};

/// Byte offsets into the block's shared memory and sizes in elements: BackwardLayout{shape}. All of
/// it is default values, because NVRTC takes no function that is not the device's.
struct BackwardLayout {
  BackwardShape shape;

  int threads = 32 * shape.warps;
  int tiles = shape.rows / 16 / shape.warps;  ///< of 16 rows, of a warp

  // Columns of the results are cut into slices so that a thread's sums fit its registers; a block
  // owns one slice and forms all scores for it.
  int scores = tiles * shape.columns;  ///< floats of a thread: scores and their gradients
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

  // A stage: two tiles of the columns (q and do, or k and v), a pair of floats and, where decays
  // vary, the sum of decays of each column.
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

  // Who forms which part of a step's dq [columns, key_columns]: warps are dealt to row tiles and to
  // groups of 16 columns. Device memory holds it as the warps' accumulators, one behind the other.
  int dq_warp_rows = shape.columns / 16 < 2             ? 1
                     : shape.columns / 32 < shape.warps ? shape.columns / 32
                                                        : shape.warps;
  int dq_tiles = shape.columns / 16 / dq_warp_rows;
  int dq_warp_columns = shape.warps / dq_warp_rows;
  int dq_groups = (key_columns / 16 + dq_warp_columns - 1) / dq_warp_columns;
  int dq_floats = shape.warps * dq_tiles * dq_groups * 256;  ///< of a step and slice
};

/// How rows of o and do are dealt to lanes before the walk.
struct BackwardRows {
  int value_dim, io_bytes;

  static constexpr int threads = 256;  ///< of a block
  int row_bytes = value_dim * io_bytes;
  int access = row_bytes % 16 == 0  ? 16
               : row_bytes % 8 == 0 ? 8
               : row_bytes % 4 == 0 ? 4
                                    : io_bytes;
  int packs = row_bytes / access;
  int lanes = packs > 16 ? 32 : packs > 8 ? 16 : packs > 4 ? 8 : packs > 2 ? 4 : packs;
  int rows = threads / lanes;  ///< of a block
};

/// Threads of a block that scans or sums a whole sequence.
inline constexpr int backward_scan_threads = 1024;

}  // namespace gla_bench::softmax_attention
