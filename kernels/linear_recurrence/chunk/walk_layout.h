#pragma once
// Sizes of a chunk walk (walk.cuh). They are stated once for the kernel and for its host side,
// which refuses tiles and sets the launch. Includes nothing, because NVRTC has no standard headers.

namespace gla_bench::linear_recurrence {

/// What decides the sizes. Byte counts are per element: io of q, k, v and o, gate of the gates,
/// operand of what the tensor cores are fed with (2 for bfloat16 problems, else 4).
struct WalkShape {
  int key_dim, io_bytes, gate_bytes, operand_bytes;
  int chunk;    ///< tokens whose state products are formed at once: 16, 32 or 64
  int block_v;  ///< columns of V that a block owns
  int warp_v;   ///< columns of V that a warp owns: 16 or 32
  int warps_k;  ///< warps that share K for the same columns of V
  /// chunks in shared memory; with more than 1 the next one loads during the current one
  int stages;
  bool outputs;            ///< false: only the states are formed
  int decay = 3;           ///< what a token's decay depends on: family.hpp's Decay
  bool bonus = false;      ///< the token itself enters through u, not through the scores
  bool normalize = false;  ///< carries the normalizer z
};

/// Byte offsets into the block's shared memory, and sizes in elements: WalkLayout{shape}. All of it
/// is default values, because NVRTC accepts no function that is not a device function.
struct WalkLayout {
  WalkShape shape;

  int threads = shape.block_v / shape.warp_v * shape.warps_k * 32;
  /// A warp's share of K in whole steps of 16, and K padded to whole shares.
  int warp_keys = (shape.key_dim + 16 * shape.warps_k - 1) / (16 * shape.warps_k) * 16;
  int keys = warp_keys * shape.warps_k;

  // Leading dimensions of the [chunk][keys] tiles, the [chunk][block_v] tiles of io elements, the
  // [chunk][chunk] scores (in bfloat16, two parts side by side) and the float32 [chunk][block_v]
  // partial outputs.
  int key_ld = keys + 8;
  int value_ld = shape.block_v + 8;
  int score_ld = shape.operand_bytes == 2 ? 2 * shape.chunk + 8 : shape.chunk + 4;
  int partial_ld = shape.block_v + 4;

  // A stage holds k, g where decays are per key, q where there are outputs, and v.
  bool per_key = shape.decay == 3;
  int key_tile = shape.chunk * key_ld * shape.io_bytes;
  int gate_tile = per_key ? shape.chunk * key_ld * shape.gate_bytes : 0;
  int value_tile = shape.chunk * value_ld * shape.io_bytes;
  int g = key_tile;
  int q = g + gate_tile;
  int v = q + (shape.outputs ? key_tile : 0);
  int stage = v + value_tile;

  // Operand tiles, for decays per key only; otherwise k and q are operands as they are. Where
  // operands have the format of what they are formed from, they replace k, q and g in place.
  // Otherwise they have places at `operands`.
  bool in_place = shape.io_bytes == shape.operand_bytes;
  bool gates_in_place = in_place && shape.gate_bytes == shape.operand_bytes;
  int operand_tile = shape.chunk * key_ld * shape.operand_bytes;
  int operands = shape.stages * stage;
  int operand_places = !per_key         ? 0
                       : !in_place      ? (shape.outputs ? 3 : 1)
                       : gates_in_place ? 0
                                        : (shape.outputs ? 1 : 0);

  // Memory for the scores alone: two diagonal tiles and all levels of the tree but the last. Later
  // it holds the partial outputs of the warps that share K.
  int levels = shape.chunk >= 64 ? 3 : shape.chunk >= 32 ? 2 : 1;
  int scratch = operands + operand_places * operand_tile;
  int score_operands = per_key ? (levels + 1) * operand_tile : 0;
  int partials = shape.warps_k * shape.chunk * partial_ld * 4;
  int score_bytes = shape.outputs ? shape.chunk * score_ld * shape.operand_bytes : 0;

  // With three stages and no decays per key, scores are formed one chunk ahead. That needs one
  // barrier per chunk instead of two, and costs a second place for scores and partial outputs.
  bool scores_ahead = shape.stages == 3 && !per_key && shape.outputs && !shape.normalize;
  int places = scores_ahead ? 2 : 1;
  int scratch_bytes = !shape.outputs                       ? 0
                      : places * partials > score_operands ? places* partials
                                                           : score_operands;
  int scores = scratch + scratch_bytes;

  // Decays per key, all float32: [chunk / 8][keys], [keys] and, without outputs, another [keys].
  int block_decays = scores + places * score_bytes;
  int chunk_decay = block_decays + (per_key ? shape.chunk / 8 * keys * 4 : 0);
  int total_decay = chunk_decay + (per_key ? keys * 4 : 0);

  // Scalar decays. Each chunk in work has a slot with factors.cuh's arrays of [chunk] and one decay
  // (with three of padding). There are 3 arrays for a decay per head. For a decay per token there
  // are 5, and one more for each block of 8 tokens.
  int factors = total_decay + (per_key && !shape.outputs ? keys * 4 : 0);
  int factor_arrays = shape.decay == 1 ? 3 : shape.decay == 2 ? 5 + shape.chunk / 8 : 0;
  int factor_slot = factor_arrays == 0 ? 0 : (factor_arrays * shape.chunk + 4) * 4;

  // The bonus u [keys] and its scores [chunk]. The normalizer z [keys]; with outputs also q.z and
  // quotients, both [chunk], and the scores' row sums [chunk / 16][chunk]. All of these are
  // float32.
  int factor_slots = places + 1;
  int bonus = factors + factor_slots * factor_slot;
  int normalizer = bonus + (shape.bonus && shape.outputs ? (keys + shape.chunk) * 4 : 0);
  int row_floats = shape.outputs ? shape.chunk * (2 + shape.chunk / 16) : 0;
  int bytes = normalizer + (shape.normalize ? (keys + row_floats) * 4 : 0);

  /// A thread's accumulators, of the state and of the outputs.
  int accumulators = shape.warp_v / 16 * (warp_keys / 2 + (shape.outputs ? shape.chunk / 2 : 0));
};

}  // namespace gla_bench::linear_recurrence
