#pragma once
// Sizes of decode.cuh. They are stated once for the kernel, which needs constants, and for its host
// side, which needs the totals. Sizes follow from the members above them. There is no function,
// because NVRTC takes a plain function for host code. Includes nothing.

namespace gla_bench::linear_recurrence {

/// The most tokens that are staged together. Longer sequences take several turns.
inline constexpr int decode_tokens = 8;

struct DecodeLayout {
  int key_dim, value_dim, state_bytes;  ///< state_bytes: of an element of the state
  bool value_first;
  int block_v, elements;  ///< the tile

  /// The contiguous axis of a state is K where it is stored value first, else V. Rows are counted
  /// along the other axis. One access moves `vec` neighbours along the contiguous axis.
  int row_bytes = (value_first ? key_dim : value_dim) * state_bytes;
  int vec = (row_bytes % 16 == 0  ? 16
             : row_bytes % 8 == 0 ? 8
             : row_bytes % 4 == 0 ? 4
                                  : 2) /
            state_bytes;
  /// Threads along the contiguous axis. Key first, they cover all of the block's columns. Value
  /// first, they are at most one warp. A thread has `columns` vectors of each of its rows.
  int words = value_first ? (key_dim + vec - 1) / vec : block_v / vec;
  int lanes = !value_first ? words
              : words > 16 ? 32
              : words > 8  ? 16
              : words > 4  ? 8
              : words > 2  ? 4
              : words > 1  ? 2
                           : 1;
  int columns = (words + lanes - 1) / lanes;
  /// Rows of a thread: a power of two, or 0 where the tile's elements do not make one row. Row j of
  /// a thread in group g is j * groups + g.
  int fit = elements / (vec * columns);
  int rows = fit >= 64   ? 64
             : fit >= 32 ? 32
             : fit >= 16 ? 16
             : fit >= 8  ? 8
             : fit >= 4  ? 4
             : fit >= 2  ? 2
                         : fit;
  int block_rows = value_first ? block_v : key_dim;
  int wanted_groups = (block_rows + (rows > 0 ? rows : 1) - 1) / (rows > 0 ? rows : 1);
  int unit = lanes > 32 ? lanes : 32;
  int threads = (lanes * wanted_groups + unit - 1) / unit * unit;
  int groups = threads / lanes;
  /// Keys and values of a block, including their padding.
  int padded_keys = value_first ? lanes * vec * columns : rows * groups;
  int padded_values = value_first ? rows * groups : block_v;
  /// Partial sums of an output that remain to be added in shared memory.
  int slots = value_first ? 1 : threads / unit;

  /// Floats in shared memory for each token: q, k, decay and bonus of every key; v; partial
  /// outputs; and each warp's partial denominators.
  int token_floats = 4 * padded_keys + padded_values + slots * padded_values + threads / 32;
  /// Floats in addition: the normalizer.
  int normalizer_floats = padded_keys;
};

}  // namespace gla_bench::linear_recurrence
