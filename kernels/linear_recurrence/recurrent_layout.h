#pragma once
// Where things lie in the dynamic shared memory of recurrent.cuh, in bytes: one computation for the
// kernel, which needs constants, and for its host side, which needs the total. Includes nothing.

namespace gla_bench::linear_recurrence {

struct RecurrentLayout {
  int key_pitch;     ///< elements between the rows of a raw q, k or g tile: a multiple of 16 bytes
  int slice;         ///< key dimensions per lane, a multiple of 4
  int padded_key;    ///< slice * lanes
  int threads;       ///< of a block
  int stage_bytes;   ///< one stage of raw q, k, g, v
  int float_words;   ///< one buffer of scaled q, k, e^g, v in float32
  int output_pitch;  ///< floats between the rows of an output buffer
  int output_words;  ///< one output buffer
  int shared_bytes;  ///< all of it
};

constexpr RecurrentLayout recurrent_layout(int key_dim, int io_bytes, int block_v, int lanes,
                                           int columns, int tokens, int stages) {
  RecurrentLayout at{};
  const int per_access = 16 / io_bytes;
  at.key_pitch = (key_dim + per_access - 1) / per_access * per_access;
  at.slice = (key_dim + 4 * lanes - 1) / (4 * lanes) * 4;
  at.padded_key = at.slice * lanes;
  at.threads = block_v / columns * lanes;
  at.stage_bytes = tokens * (3 * at.key_pitch + block_v) * io_bytes;
  at.float_words = tokens * (3 * at.padded_key + block_v);
  at.output_pitch = block_v + 8;
  at.output_words = tokens * at.output_pitch;
  at.shared_bytes = stages * at.stage_bytes + 2 * 4 * (at.float_words + at.output_words);
  return at;
}

}  // namespace gla_bench::linear_recurrence
