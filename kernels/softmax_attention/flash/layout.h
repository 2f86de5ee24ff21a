#pragma once
// Sizes of a flash walk (walk.cuh), stated once for the kernel and for its host side, which refuses
// tiles and configures the launch. The file includes nothing, because NVRTC has no standard
// headers.

namespace gla_bench::softmax_attention {

/// The choices that determine the sizes. Rows are queries, or queries times the heads of a group.
struct FlashShape {
  int key_dim, value_dim, io_bytes;
  int block_m;  ///< rows of a block
  int block_n;  ///< keys of one tile
  int warps_m;  ///< warps along the rows, each with a multiple of 16 rows
  int warps_n;  ///< warps that share rows; each takes its own keys, merged at the end
  int stages;   ///< key and value tiles in shared memory; 2: the next one loads early
  bool decay;   ///< whether sums of log decays lie beside the keys
};

/// Sizes in elements, and byte offsets into the block's shared memory. Use it as
/// FlashLayout{shape}. Everything is a default member value, because NVRTC accepts only device
/// functions.
struct FlashLayout {
  FlashShape shape;

  int threads = shape.warps_m * shape.warps_n * 32;
  int row_tiles = shape.block_m / (16 * shape.warps_m);    // tiles of 16 rows, for each warp
  int column_tiles = shape.block_n / (8 * shape.warps_n);  // tiles of 8 keys, for each warp

  // K and V rounded up to a multiple of 16, and row lengths of their tiles that avoid bank
  // conflicts.
  int keys = (shape.key_dim + 15) / 16 * 16;
  int values = (shape.value_dim + 15) / 16 * 16;
  int key_ld = keys + 8;
  int value_ld = values + 8;

  int key_tile = shape.block_n * key_ld * shape.io_bytes;
  int value_tile = shape.block_n * value_ld * shape.io_bytes;
  int key_tiles = shape.block_m * key_ld * shape.io_bytes;  // after the queries
  int value_tiles = key_tiles + shape.stages * key_tile;
  int row_sums = value_tiles + shape.stages * value_tile;            // DecaySum [block_m]
  int key_sums = row_sums + (shape.decay ? shape.block_m * 16 : 0);  // DecaySum [stages][block_n]
  int walk_bytes = key_sums + (shape.decay ? shape.stages * shape.block_n * 16 : 0);

  // After the walk, where warps share rows: float32 [warps_n][block_m][partial_ld] partial outputs,
  // and float2 [warps_n][block_m] with their references and sums.
  int partial_ld = values + 4;
  int partial_bytes = shape.warps_n * shape.block_m * partial_ld * 4;
  int merge_bytes = shape.warps_n > 1 ? partial_bytes + shape.warps_n* shape.block_m * 8 : 0;

  int bytes = walk_bytes > merge_bytes ? walk_bytes : merge_bytes;

  // Registers of a thread: outputs and scores, and also the queries where they fit.
  int accumulators = row_tiles * (values / 2 + column_tiles * 4);
  int query_registers = row_tiles * keys / 4;
  bool queries_in_registers =
      shape.io_bytes == 2 && shape.value_dim <= 128 && accumulators + query_registers <= 168;
};

}  // namespace gla_bench::softmax_attention
