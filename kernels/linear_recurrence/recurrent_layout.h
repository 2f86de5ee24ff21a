#pragma once
// Sizes of recurrent.cuh, stated once for the kernel, which needs constants, and for its host side,
// which needs the totals. Sizes follow from the members above them; there is no function because
// NVRTC takes a plain one for host code. Includes nothing.

namespace gla_bench::linear_recurrence {

struct RecurrentLayout {
  int key_dim, io_bytes;
  int block_v, lanes, columns, tokens, stages;  ///< the tile

  int threads = block_v / columns * lanes;
  /// Key dimensions of a lane, in quads, and of all lanes together.
  int slice = (key_dim + 4 * lanes - 1) / (4 * lanes) * 4;
  int padded_key = slice * lanes;
  /// Elements between the rows of a raw q, k or g tile: whole accesses of 16 bytes.
  int key_pitch = (key_dim * io_bytes + 15) / 16 * 16 / io_bytes;
  /// A stage of raw q, k, g, v.
  int stage_bytes = tokens * (3 * key_pitch + block_v) * io_bytes;
  /// A buffer of scaled q, k, e^g, v in float32.
  int float_words = tokens * (3 * padded_key + block_v);
  /// A buffer of outputs in float32.
  int output_pitch = block_v + 8;
  int output_words = tokens * output_pitch;
  int shared_bytes = stages * stage_bytes + 2 * 4 * (float_words + output_words);
};

}  // namespace gla_bench::linear_recurrence
