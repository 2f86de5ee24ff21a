#pragma once
// Shared memory of the backward of chunk_sm90, for its kernels and for the host code that asks for
// it. Includes no standard headers, because NVRTC has none.

namespace gla_bench::linear_recurrence {

/// The walks over a sequence's chunks. Forwards: what each segment adds to the gradient of the
/// state before it (`changes`), or to that and to the state behind it (`segments`), and the state
/// before each chunk (`states`). Backwards: the gradients.
enum class GradientPass { changes, segments, states, gradients };

/// Offsets, bytes and counts follow from the first members. A tile is 64 tokens of 64 columns, in
/// rows of 128 bytes; a tile of gates in float32 has 32 columns.
///
/// A block has a slice of the keys and a slice of V, of up to 128 each. What all gradients have of
/// a pair of slices are terms of their sums, so that blocks share nothing but what they add to.
struct GradientSm90Layout {
  int key_dim, value_dim;  ///< K, V
  int stages;              ///< chunks in shared memory
  int decay;               ///< trait::decay: 0 none, 1 constant, 2 per token, 3 per key
  bool wide_gates;         ///< gates per key in float32
  GradientPass pass;

  bool inputs = pass != GradientPass::changes;     ///< whether it needs k and v
  bool outputs = pass != GradientPass::states;     ///< whether it needs q and do
  bool results = pass == GradientPass::gradients;  ///< whether it forms scores and gradients

  static constexpr int tokens = 64, columns = 64, tile_bytes = tokens * 128;

  static constexpr int slice = 128;
  int key_slices = (key_dim + slice - 1) / slice;
  int value_slices = (value_dim + slice - 1) / slice;
  int slices = key_slices * value_slices;
  /// Slices of a sequence that are walked in one launch. The gradients of a slice of the keys have
  /// terms of all slices of V, and the other way round, so that in one launch all blocks have
  /// slices of their own; the blocks of the next one add to what these have stored.
  int side_by_side = !results ? slices : key_slices < value_slices ? key_slices : value_slices;
  int rounds = slices / side_by_side;  ///< launches

  /// Tiles of a slice.
  int key_tiles = key_slices > 1 ? 2 : (key_dim + columns - 1) / columns;
  int value_tiles = value_slices > 1 ? 2 : (value_dim + columns - 1) / columns;
  /// Warpgroups that multiply: each owns 64 keys. One more loads.
  int groups = key_tiles;
  int threads = 128 * (1 + groups);
  bool of_tokens = decay == 1 || decay == 2;  ///< whether all keys of a token decay alike
  int gate_tiles = decay < 3 ? 0 : wide_gates ? 2 * key_tiles : key_tiles;
  int gate_columns = wide_gates ? 32 : columns;

  /// 16 x 16 blocks of a slice of a state, of each of which 32 lanes have eight elements.
  int key_blocks = 4 * key_tiles, value_blocks = 4 * value_tiles;

  // Offsets within a stage.
  int k = 0;
  int gate = k + key_tiles * tile_bytes;
  int v = gate + gate_tiles * tile_bytes;
  int q = v + value_tiles * tile_bytes;
  int d_o = q + key_tiles * tile_bytes;
  int tiles_end = outputs ? d_o + value_tiles * tile_bytes : q;
  int token_gates = tiles_end;  ///< log2 of the decays, one for each token
  int stage_bytes = (token_gates + (of_tokens ? tokens * 4 : 0) + 1023) / 1024 * 1024;
  /// Bytes that arrive: q, k and gates; v and do.
  int arriving_keys = (gate_tiles + (inputs + outputs) * key_tiles) * tile_bytes;
  int arriving_values = (inputs + outputs) * value_tiles * tile_bytes;

  // Offsets within the block's memory.
  /// The gradient of the state in bfloat16: [K][V], in tiles of 64 columns of V.
  int change = stages * stage_bytes;
  int change_tile = key_tiles * tile_bytes;
  int scores = change + (results ? value_tiles * change_tile : 0);  ///< A, then dA
  int d_scores = scores + tile_bytes;
  /// The scaled tokens of one level of a chunk whose decays are strong (strong.cuh). Before that,
  /// A's diagonal in parts of each warp's keys.
  int level = d_scores + tile_bytes;
  int tiles = results ? level + (decay == 3 ? key_tiles * tile_bytes : 0) : change;
  int diagonal = tiles;  ///< A's diagonal, and dA's; or sums of each warp's keys
  int d_diagonal = diagonal + (results ? tokens * 4 : 0);
  /// Gradients of decays per token, in parts of each warp's keys.
  int token_sums = d_diagonal + (results ? tokens * 4 : 0);
  int barriers = token_sums + (of_tokens && results ? 4 * groups * tokens * 4 : 0);
  static constexpr int stage_barriers = 3;
  int bytes = barriers + stage_barriers * stages * 8 + 1024;  ///< 1024: to align
};

}  // namespace gla_bench::linear_recurrence
