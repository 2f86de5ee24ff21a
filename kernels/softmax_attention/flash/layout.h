#pragma once
// Sizes of a flash walk (walk.cuh), stated once for the kernel and for the host's side, which
// refuses tiles and sets the launch. Includes nothing: NVRTC has no standard headers.

namespace gla_bench::softmax_attention {

/// What decides the sizes. Rows are queries (or queries times the heads of a group).
struct FlashShape {
  int key_dim, value_dim, io_bytes;
  int block_m;  ///< rows of a block
  int block_n;  ///< keys in hand at once
  int warps_m;  ///< warps along the rows: 16 rows or a multiple each
  int warps_n;  ///< warps that share the rows and take keys of their own, merged at the end
  int stages;   ///< tiles of keys and values in shared memory: 2 loads the next one meanwhile
  bool decay;   ///< sums of log decays beside the keys
};

/// Byte offsets into the block's shared memory and sizes in elements: FlashLayout{shape}. All of it
/// is default values, because NVRTC takes no function that is not the device's.
struct FlashLayout {
  FlashShape shape;

  int threads = shape.warps_m * shape.warps_n * 32;
  int row_tiles = shape.block_m / (16 * shape.warps_m);    // of 16 rows, a warp's
  int column_tiles = shape.block_n / (8 * shape.warps_n);  // of 8 keys, a warp's

  // K and V in whole steps of 16 and the leading dimensions of their tiles, free of bank conflicts.
  int keys = (shape.key_dim + 15) / 16 * 16;
  int values = (shape.value_dim + 15) / 16 * 16;
  int key_ld = keys + 8;
  int value_ld = values + 8;

  int key_tile = shape.block_n * key_ld * shape.io_bytes;
  int value_tile = shape.block_n * value_ld * shape.io_bytes;
  int key_tiles = shape.block_m * key_ld * shape.io_bytes;  // behind the queries
  int value_tiles = key_tiles + shape.stages * key_tile;
  int row_sums = value_tiles + shape.stages * value_tile;            // DecaySum [block_m]
  int key_sums = row_sums + (shape.decay ? shape.block_m * 16 : 0);  // DecaySum [stages][block_n]
  int walk_bytes = key_sums + (shape.decay ? shape.stages * shape.block_n * 16 : 0);

  // After the walk, where warps share rows: float32 [warps_n][block_m][partial_ld] unfinished
  // outputs and float2 [warps_n][block_m] of their references and sums.
  int partial_ld = values + 4;
  int partial_bytes = shape.warps_n * shape.block_m * partial_ld * 4;
  int merge_bytes = shape.warps_n > 1 ? partial_bytes + shape.warps_n* shape.block_m * 8 : 0;

  int bytes = walk_bytes > merge_bytes ? walk_bytes : merge_bytes;

  // A thread's registers: outputs and scores, and the queries where they have room beside them.
  int accumulators = row_tiles * (values / 2 + column_tiles * 4);
  int query_registers = row_tiles * keys / 4;
  bool queries_in_registers =
      shape.io_bytes == 2 && shape.value_dim <= 128 && accumulators + query_registers <= 168;
};

}  // namespace gla_bench::softmax_attention
