#pragma once
// Shared memory of flash_sm90 (flash_sm90.cuh), for the kernel and for the host code that asks for
// it. Includes no standard headers, because NVRTC has none.

namespace gla_bench::softmax_attention {

/// Offsets, bytes and counts follow from the first six members. A panel is 64 columns of a tile of
/// rows, each row 128 bytes, as bulk copies with the 128-byte swizzle write them.
struct FlashSm90Layout {
  int key_dim, value_dim;     ///< K, V
  int consumers;              ///< warpgroups that multiply, each with 64 rows
  int block_n;                ///< keys of a tile
  int stages;                 ///< tiles of keys, and as many of values, in shared memory
  bool decay;                 ///< the keys' biases and sums of log decays come with them
  bool shared_items = false;  ///< blocks take items from a common counter

  static constexpr int rows = 64;  ///< of a consumer
  static constexpr int columns = 64;
  static constexpr int merge_threads = 256;  ///< of a block of merge.cuh
  static constexpr int merged_columns = 4;   ///< of one of these threads

  int threads = 128 * (1 + consumers);
  int block_m = rows * consumers;
  int key_panels = (key_dim + columns - 1) / columns;
  int value_panels = (value_dim + columns - 1) / columns;
  /// Width of the outputs' product: V rounded up to what there is (device/sm90_products.cuh).
  int values = value_dim <= 32    ? 32
               : value_dim <= 64  ? 64
               : value_dim <= 80  ? 80
               : value_dim <= 96  ? 96
               : value_dim <= 112 ? 112
               : value_dim <= 128 ? 128
               : value_dim <= 160 ? 160
               : value_dim <= 176 ? 176
               : value_dim <= 192 ? 192
                                  : 256;

  int row_panel = rows * 128;                     ///< bytes of a panel of queries, and of outputs
  int tile_panel = block_n * 128;                 ///< bytes of a panel of keys or values
  int arriving_queries = key_panels * row_panel;  ///< for one consumer
  int arriving_keys = key_panels * tile_panel;
  int arriving_values = value_panels * tile_panel;

  // Each consumer's outputs take the place of its queries.
  int row_panels = key_panels > value_panels ? key_panels : value_panels;
  int consumer_bytes = row_panels * row_panel;
  int keys = consumers * consumer_bytes;
  int values_at = keys + stages * arriving_keys;
  int arriving_biases = decay ? 16 + block_n * 4 : 0;  ///< KeyBiases
  int biases = values_at + stages * arriving_values;
  int sums = biases + stages * arriving_biases;  ///< DecaySum [stages][block_n]
  int barriers = sums + (decay ? stages * block_n * 16 : 0);
  /// For each stage: keys and values arrived, keys and values free. For each consumer: queries
  /// arrived, queries free.
  int barrier_count = 4 * stages + 2 * consumers;
  /// The numbers of the next two items, and for each of them two barriers: written, and read.
  int next_items = barriers + barrier_count * 8;
  int bytes = next_items + (shared_items ? 8 + 4 * 8 : 0) + 1024;  ///< 1024: to align
};

}  // namespace gla_bench::softmax_attention
