#pragma once
// Sizes of the backward recurrent.cuh, for the kernel and for its host side. Includes nothing,
// because NVRTC has no standard headers.

namespace gla_bench::linear_recurrence {

struct RecurrentGradientLayout {
  int key_dim, width;     ///< of the state, with a normalizer's column
  int kept, rows, warps;  ///< the tile

  int threads = 32 * warps;
  int block_k = rows * warps;                      ///< rows of the state that a block owns
  int slices = (key_dim + block_k - 1) / block_k;  ///< blocks of one sequence and head
  int columns = (width + 31) / 32;                 ///< columns of a lane
  int padded_width = 32 * columns;
  int registers = (kept + 4) * rows * columns;  ///< of states of a segment, and what goes with them

  /// Shared memory in floats: v and do of a segment; q, k and decays; each warp's part of outputs
  /// or of dv.
  int row_floats = kept * padded_width;
  int key_floats = kept * block_k;
  int shared_bytes = 4 * ((2 + warps) * row_floats + 3 * key_floats);
};

}  // namespace gla_bench::linear_recurrence
