#pragma once
// Sizes of flash_decoding_sm90, stated once for the kernel and for its host side. The file includes
// nothing, because NVRTC has no standard headers.

namespace gla_bench::softmax_attention {

/// Sizes in elements, and byte offsets into the block's shared memory. Use it as
/// DecodingLayout{...}. Everything is a default member value, because NVRTC accepts only device
/// functions.
struct DecodingLayout {
  int key_dim, value_dim;
  int block_n;  ///< keys of a tile
  int blocks;   ///< of a multiprocessor at a time
  int stages;   ///< tiles in shared memory
  int biased;   ///< rows of a block that have a bias for each key; 0: there is no decay

  static constexpr int warps = 4;     // that multiply; each has its own keys of every tile
  static constexpr int rows = 16;     // of a block: queries times the heads of a group
  static constexpr int columns = 64;  // of a panel: a row of it has 128 bytes

  // Warps besides those that multiply: one that has tiles copied, and those that form biases. Their
  // number divides that of the stages. Each warp then meets every phase of the stages it writes. A
  // wait by parity cannot tell a phase from the one two before it.
  static constexpr int warps_for_biases = 3;
  int bias_warps = biased > 0 ? warps_for_biases : 0;
  int threads = 32 * (warps + 1 + bias_warps);
  int keys_of_warp = block_n / warps;
  int keys = (key_dim + 15) / 16 * 16;
  int values = (value_dim + 15) / 16 * 16;

  /// Blocks at work at a time, with the multiprocessors of an H100 or H200 in its SXM form.
  int most_blocks = 132 * blocks;

  // Registers of a thread besides outputs, queries, scores and weights, as seen in the assembler's
  // reports. They are given to four warps at a time.
  static constexpr int other_registers = 56, decay_registers = 8;
  static constexpr int registers_of_multiprocessor = 65536, most_registers = 255;
  int registers_given =
      registers_of_multiprocessor / ((threads * blocks + 127) / 128 * 128) / 8 * 8;
  int registers_there = registers_given < most_registers ? registers_given : most_registers;
  int registers_beside_queries =
      values / 2 + keys_of_warp + other_registers + (biased > 0 ? decay_registers : 0);
  // Where a thread has no room for the queries, or hardly any, they lie in shared memory, and a
  // step of the product with the keys reads its four registers of them. The spare ones are for what
  // the assembler needs beyond the estimate, and would spill.
  static constexpr int spare_registers = 24;
  bool queries_in_shared = registers_beside_queries + keys / 4 + spare_registers > registers_there;
  int registers_of_queries = queries_in_shared ? 8 : keys / 4;

  int panel = block_n * 2 * columns;
  int key_panels = (key_dim + columns - 1) / columns;
  int value_panels = (value_dim + columns - 1) / columns;
  int key_tile = key_panels * panel;
  int value_tile = value_panels * panel;
  int bias_tile = biased * block_n * 4;  // float32 [biased][block_n]
  // The loader reads the totals of the tile that lay in a stage before, when those of the next one
  // may be there already.
  int steps_of_totals = 2 * stages;

  int value_tiles = stages * key_tile;  // after the tiles of keys
  int bias_tiles = value_tiles + stages * value_tile;
  int barriers = bias_tiles + stages * bias_tile;       // keys, values and biases arrived; free
  int totals = barriers + 4 * stages * 8;               // float32 [biased][steps_of_totals]
  int reaches = totals + biased * steps_of_totals * 4;  // float32 [3][biased], see reach.cuh
  int copied = reaches + 3 * biased * 4;                // int [stages]: whether values were copied
  int query_operands = (copied + stages * 4 + 15) / 16 * 16;  // 16 bytes [keys / 16][32]
  int walk_bytes = queries_in_shared ? query_operands + keys * rows * 2 : copied + stages * 4;

  /// Of the blocks that merge rows' parts, the most blocks, and the parts of which a thread has
  /// loads on their way.
  static constexpr int merge_threads = 256, merge_blocks = 4 * 132, parts_at_once = 8;

  // After the walk, in the place of the tiles: float32 [warps][rows][partial_ld] partial outputs
  // and float2 [warps][rows] with their references and sums.
  int partial_ld = values + 4;
  int partial_bytes = warps * rows * partial_ld * 4;
  int merge_bytes = partial_bytes + warps * rows * 8;

  // Tiles begin at a multiple of 1024 bytes, to which the block aligns its shared memory itself.
  int bytes = (walk_bytes > merge_bytes ? walk_bytes : merge_bytes) + 1024;
};

}  // namespace gla_bench::softmax_attention
