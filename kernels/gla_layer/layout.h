#pragma once
// Sizes of the layer's own kernels, stated once for the kernels, which need constants, and for
// their host side. The file includes nothing.

namespace gla_bench::gla_layer {

/// A kernel that sums columns over tokens: a block has so many columns, and as many threads of
/// each.
inline constexpr int column_lanes = 32;

struct KernelLayout {
  int key_dim, value_dim, io_bytes;

  int threads = 256;

  /// The elements that a thread moves at once: 16 bytes of io_t, or a smaller size that divides a
  /// head's row.
  int key_bytes = key_dim * io_bytes;
  int key_access = key_bytes % 16 == 0  ? 16
                   : key_bytes % 8 == 0 ? 8
                   : key_bytes % 4 == 0 ? 4
                                        : io_bytes;
  int key_pack = key_access / io_bytes;
  int value_bytes = value_dim * io_bytes;
  int value_access = value_bytes % 16 == 0  ? 16
                     : value_bytes % 8 == 0 ? 8
                     : value_bytes % 4 == 0 ? 4
                                            : io_bytes;
  int value_pack = value_access / io_bytes;

  /// A head's row of values uses as many lanes of a warp as it has packs, rounded up to a power of
  /// two.
  int packs = value_dim / value_pack;
  int lanes = packs > 16 ? 32 : packs > 8 ? 16 : packs > 4 ? 8 : packs > 2 ? 4 : packs > 1 ? 2 : 1;
  int packs_per_lane = (packs + lanes - 1) / lanes;
  int units = threads / lanes;  ///< rows of values that a block handles

  /// The gate's kernel: the columns of W_2 that a thread holds in registers, 16 values each.
  int gate_threads = 128;
  int gate_columns = key_pack < 4 ? key_pack : 4;
};

}  // namespace gla_bench::gla_layer
