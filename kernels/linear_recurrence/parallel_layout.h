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

  /// Offsets in bytes: two stages of (k, g), two of v, block sums of the gates, running decays, one
  /// operand tile; the outputs' kernel goes on with a second operand tile and the queries.
  int values = 4 * key_tile;
  int sums = values + 2 * value_tile;
  int decays = sums + block / 8 * chunk * 4;
  int operand = decays + keys * 4;
  int operands = 2 * operand_tile > state_tile ? 2 * operand_tile : state_tile;
  int queries = operand + operands;
  int needed = queries + block * query_ld * operand_bytes;
  int outputs = block * output_ld * 4;  ///< in place of everything, at the end
  int shared_bytes = needed > outputs ? needed : outputs;
  int threads = block / 16 * 32;
  /// The kernel of the final state: a warp per 16 keys of a chunk.
  int state_shared_bytes = operand + operand_tile;
  int state_threads = chunk / 16 * 32;
};

}  // namespace gla_bench::linear_recurrence
