#pragma once
// Shared memory of the backward's chunk kernels, for the kernels and for their host side. Includes
// nothing, because NVRTC has no standard headers.

namespace gla_bench::linear_recurrence {

struct ChunkGradientLayout {
  int key_dim, width;         ///< of the state, with a normalizer's column
  int element_bytes;          ///< of an operand of the products
  int chunk, block_k, panel;  ///< the tile: tokens, rows of the state, columns at a time
  int kept_change = 0;        ///< whether the gradient of the state stays in shared memory
  int meets_others = 0;       ///< whether tokens meet those of other chunks (quadratic/)

  /// A warp owns 16 tokens and 32 keys.
  int blocks = chunk / 16, groups = block_k / 32;
  int warps = blocks * groups, threads = 32 * warps;
  int slices = (key_dim + block_k - 1) / block_k;
  int panels = (width + panel - 1) / panel;

  /// Leading dimensions in elements: of tiles of keys, of panels of columns, of scores (16-bit
  /// scores have what rounding lost beside them), and of float32 matrices [chunk, chunk].
  int key_ld = block_k + 8, panel_ld = panel + 8;
  int score_ld = (element_bytes == 2 ? 2 : 1) * chunk + 8;
  int square_ld = chunk + 4;
  int change_ld = panels * panel + 4;

  int key_tile = chunk * key_ld * element_bytes;
  int square = 4 * chunk * square_ld;
  int key_floats = 4 * chunk * block_k;

  /// Offsets in bytes of what outlives the phases of a chunk.
  int totals = 0;
  int through = totals + 4 * blocks * block_k;
  int sums = through + 4 * block_k;  // doubles [blocks, block_k]
  int change = sums + 8 * blocks * block_k;
  int work = change + kept_change * 4 * block_k * change_ld;

  /// The three phases share what follows, the last one all of it and the first two what lies behind
  /// the scores and the decayed operands of the whole chunk.
  int scores = work;
  int suffixed = scores + chunk * score_ld * element_bytes;
  int prefixed = suffixed + key_tile;
  int tiles = prefixed + key_tile;
  /// Scores: operand tiles of q and k, and each group's sums.
  int k_tile = tiles, q_tile = k_tile + key_tile;
  int partial_scores = q_tile + key_tile;
  int end_of_scores = partial_scores + groups * square;
  /// Panels: v, do, states and their gradients.
  int v = tiles, d_o = v + chunk * panel_ld * element_bytes;
  int state = d_o + chunk * panel_ld * element_bytes;
  int changes = state + block_k * panel_ld * element_bytes;
  /// Beside the panels: own keys with the decays in between, the other chunk's keys and columns,
  /// and scores with it, or their gradients; what lies outside of the chunk, for each key.
  int own_keys = changes + block_k * panel_ld * element_bytes;
  int other_keys = own_keys + meets_others * key_tile;
  int other_columns = other_keys + meets_others * key_tile;
  int other_scores = other_columns + meets_others * chunk * panel_ld * element_bytes;
  int outside = other_scores + meets_others * chunk * score_ld * element_bytes;
  int end_of_panels = outside + meets_others * 3 * 4 * block_k;
  /// Gradients: those of scores [i, j] and [j, i]; what queries read and keys get from outside the
  /// chunk; decayed q and k; what passes whole blocks.
  int score_changes = work, transposed = score_changes + square;
  int read = transposed + square, written = read + key_floats;
  int decayed_q = written + key_floats, decayed_k = decayed_q + key_floats;
  int passing = decayed_k + key_floats;
  int behind = passing + 4 * blocks * blocks * block_k;
  int gates = behind + 4 * blocks * block_k;
  int end_of_gradients = gates + 4 * groups * chunk;

  int larger = end_of_scores > end_of_panels ? end_of_scores : end_of_panels;
  int shared_bytes = larger > end_of_gradients ? larger : end_of_gradients;
};

}  // namespace gla_bench::linear_recurrence
