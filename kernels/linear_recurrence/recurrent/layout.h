#pragma once
// Sizes of recurrent.cuh. They are stated once for the kernel, which needs constants, and for its
// host side, which needs the totals. Sizes follow from the members above them. There is no
// function, because NVRTC takes a plain function for host code. Includes nothing.

namespace gla_bench::linear_recurrence {

struct RecurrentLayout {
  int key_dim, io_bytes, gate_bytes;  ///< bytes of an element of q, k, v, and of the gates
  int block_v, lanes, columns, tokens, stages;  ///< the tile
  /// The member of the family (0 or 1 each): a gate per key; a gate or a constant per token; the
  /// token's own bonus; a normalized output.
  int key_gates = 1, scalar_gates = 0, bonus = 0, normalized = 0;

  int threads = block_v / columns * lanes;
  /// Key dimensions of a lane, in groups of four ("quads"), and of all lanes together.
  int slice = (key_dim + 4 * lanes - 1) / (4 * lanes) * 4;
  int padded_key = slice * lanes;
  /// Elements between the rows of a raw q or k tile, and of a raw g tile. Rows are whole accesses
  /// of 16 bytes.
  int key_pitch = (key_dim * io_bytes + 15) / 16 * 16 / io_bytes;
  int gate_pitch = (key_dim * gate_bytes + 15) / 16 * 16 / gate_bytes;
  /// A stage, in bytes: raw q, k, where there is a gate per key g, and v.
  int raw_gates = 2 * tokens * key_pitch * io_bytes;
  int raw_values = raw_gates + tokens * gate_pitch * gate_bytes * key_gates;
  int stage_bytes = raw_values + tokens * block_v * io_bytes;
  /// What a token's keys become in float32: q, k and, where there is a gate per key, e^g.
  int key_parts = 2 + key_gates;
  /// One buffer of q, k, e^g and v in float32.
  int float_words = tokens * (key_parts * padded_key + block_v);
  /// One buffer of outputs in float32.
  int output_pitch = block_v + 8;
  int output_words = tokens * output_pitch;
  /// Three buffers of a token's factors (of q, of k, of the state); u and two buffers of the
  /// tokens' own scores; two buffers of each warp's share of the tokens' denominators.
  int factor_words = 3 * tokens * scalar_gates;
  int bonus_words = (padded_key + 2 * tokens) * bonus;
  int warps = (threads + 31) / 32;
  int sum_words = warps * tokens * normalized;

  /// Offsets in bytes after the raw stages.
  int ready = stages * stage_bytes;
  int outputs = ready + 2 * 4 * float_words;
  int factors = outputs + 2 * 4 * output_words;
  int bonuses = factors + 3 * 4 * factor_words;
  int sums = bonuses + 4 * bonus_words;
  int shared_bytes = sums + 2 * 4 * sum_words;
};

}  // namespace gla_bench::linear_recurrence
