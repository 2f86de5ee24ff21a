#pragma once
// Sizes of parallel.cuh, stated once for the kernels and for their host side. Members follow from
// the ones above them; there is no function because NVRTC takes a plain one for host code. Includes
// nothing.

namespace gla_bench::linear_recurrence {

struct ParallelLayout {
  int key_dim, value_dim;
  int io_bytes,
      operand_bytes;  ///< of a tensor's element, and of what the tensor cores are fed with
  int block, block_k, block_v;  ///< the tile: tokens, keys and columns that are in hand at once
  /// The member (0 or 1 each): a gate per key, a gate or a constant per token, sums of a whole row
  /// besides its scores (own scores of a bonus, denominators); operands that are not the raw rows.
  int key_gates = 1, scalar_gates = 0, row_sums = 0, formed = 1;

  /// Keys in a chunk, chunks, and all keys with their padding.
  int chunk = (key_dim + 15) / 16 * 16 < block_k ? (key_dim + 15) / 16 * 16 : block_k;
  int chunks = (key_dim + chunk - 1) / chunk;
  int keys = chunk * chunks;
  /// Leading dimensions: [block, chunk] tiles, the whole [block, keys] queries, [.., block_v]
  /// tiles, float32 outputs.
  int key_ld = chunk + 8;
  int query_ld = keys + 8;
  int value_ld = block_v + 8;
  int output_ld = block_v + 4;
  /// Bytes of the tiles.
  int key_tile = block * key_ld * io_bytes;
  int value_tile = block * value_ld * io_bytes;
  int operand_tile = block * key_ld * operand_bytes;
  int state_tile = chunk * value_ld * operand_bytes;

  /// Offsets in bytes: two stages of k (and g), two of v, block sums and running decays of gates
  /// per key; prefix sums in double and two blocks' factors of k of scalar gates; sums of rows;
  /// operand tiles, of which the outputs' kernel has a second one for gates per key; its queries.
  int stage_tiles = 1 + key_gates;
  int values = 2 * stage_tiles * key_tile;
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
  /// The kernel of the final state: a warp per 16 keys of a chunk; its operands are always formed.
  int state_shared_bytes = operand + operand_tile;
  int state_threads = chunk / 16 * 32;
};

}  // namespace gla_bench::linear_recurrence
