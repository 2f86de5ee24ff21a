#pragma once
// Sizes of parallel.cuh, stated once for the kernels and for their host side. Members follow from
// the ones above them. There is no function, because NVRTC takes a plain function for host code.
// Includes nothing.

namespace gla_bench::linear_recurrence {

struct ParallelLayout {
  int key_dim, value_dim;
  /// Of an element of q, k, v and o, of the gates, and of what the tensor cores are fed with.
  int io_bytes, gate_bytes, operand_bytes;
  int block, block_k, block_v;  ///< the tile: tokens, keys and columns in hand at once
  /// The member of the family (0 or 1 each): a gate per key; a gate or a constant per token; sums
  /// of a whole row besides its scores (a bonus's own scores, or denominators); operands that are
  /// not the raw rows.
  int key_gates = 1, scalar_gates = 0, row_sums = 0, formed = 1;

  /// Keys in a chunk, number of chunks, and all keys with their padding.
  int chunk = (key_dim + 15) / 16 * 16 < block_k ? (key_dim + 15) / 16 * 16 : block_k;
  int chunks = (key_dim + chunk - 1) / chunk;
  int keys = chunk * chunks;
  /// Leading dimensions of the [block, chunk] tiles, the whole [block, keys] queries, the [..,
  /// block_v] tiles and the float32 outputs.
  int key_ld = chunk + 8;
  int query_ld = keys + 8;
  int value_ld = block_v + 8;
  int output_ld = block_v + 4;
  /// Bytes of the tiles.
  int key_tile = block * key_ld * io_bytes;
  int gate_tile = block * key_ld * gate_bytes * key_gates;
  int value_tile = block * value_ld * io_bytes;
  int operand_tile = block * key_ld * operand_bytes;
  int state_tile = chunk * value_ld * operand_bytes;

  /// Offsets in bytes. First two stages of k (and g) and two of v. Then, for gates per key, the
  /// block sums and running decays; for scalar gates, the prefix sums in double and two blocks'
  /// factors of k. Then sums of rows, and operand tiles. The outputs' kernel has a second operand
  /// tile for gates per key, and its queries.
  int stage = key_tile + gate_tile;
  int values = 2 * stage;
  int sums = values + 2 * value_tile;
  int decays = sums + block / 8 * chunk * 4 * key_gates;
  int prefixes = decays + keys * 4 * key_gates;
  int factors = prefixes + block * 8 * scalar_gates;
  int rows = factors + 2 * (block + 4) * 4 * scalar_gates;
  int operand = rows + block * 4 * row_sums;
  int operand_tiles = formed * (1 + key_gates);
  int operands =
      operand_tiles * operand_tile > state_tile ? operand_tiles* operand_tile : state_tile;
  int queries = operand + operands;
  int needed = queries + block * query_ld * operand_bytes;
  int outputs = block * output_ld * 4;  ///< in place of everything, at the end
  int shared_bytes = needed > outputs ? needed : outputs;
  int threads = block / 16 * 32;
  /// The kernel of the final state has a warp per 16 keys of a chunk. Its operands are always
  /// formed.
  int state_shared_bytes = operand + operand_tile;
  int state_threads = chunk / 16 * 32;
};

}  // namespace gla_bench::linear_recurrence
