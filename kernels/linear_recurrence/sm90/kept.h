#pragma once
// How the states before chunks lie in the workspace that the forward of chunk_sm90 keeps for its
// backward. Includes no standard headers, because NVRTC has none.

namespace gla_bench::linear_recurrence {

/// One state [K, V] in bfloat16, padded to tiles of 64 keys by 64 columns. It lies in blocks of 16
/// keys by 16 columns, all of a row of blocks behind one another. Of a block each of 32 lanes has
/// eight elements, as a product's operand A.
struct KeptState {
  int key_dim, value_dim;  ///< K, V

  int key_blocks = 4 * ((key_dim + 63) / 64), value_blocks = 4 * ((value_dim + 63) / 64);
  int blocks = key_blocks * value_blocks;
  int bytes = blocks * 512;
};

}  // namespace gla_bench::linear_recurrence
