#pragma once
// Shared memory of chunk_sm90, for the kernel and for the host that asks for it. Includes no
// standard headers: NVRTC has none.

namespace gla_bench::linear_recurrence {

/// Bytes and counts follow from the first four. Tiles are 64 tokens of 64 columns in rows of 128
/// bytes.
struct ChunkSm90Layout {
  int key_dim;       ///< K
  int value_groups;  ///< groups of 64 columns of V that a block owns
  int stages;        ///< chunks in flight
  bool key_gates;    ///< a decay for each key: the gates are a tile like q and k

  static constexpr int tokens = 64, columns = 64, tile_bytes = tokens * 128;
  static constexpr int blocks =
      8;  ///< of eight tokens, with a reference each where gates are strong

  int key_tiles = (key_dim + columns - 1) / columns;
  int keys = key_tiles * columns;
  int threads = 128 * (2 + value_groups);
  int parts = 4 / key_tiles;  ///< of a chunk's tokens, each walked by 32 * key_tiles threads

  // Of a stage, bytes from its begin. Scores and tables take the gates' place once those are read.
  int q = 0;
  int k = key_tiles * tile_bytes;
  int v = 2 * key_tiles * tile_bytes;
  int gates = v + value_groups * tile_bytes;
  int scores = gates;
  int factor = scores + tile_bytes;
  int before_update = factor + keys * 4;
  int after_update = before_update + keys * 4;
  int references = after_update + keys * 4;
  int strong = references + blocks * keys * 4;
  int tables_end = strong + 16;
  int tiles_end = gates + (key_gates ? key_tiles * tile_bytes : 0);
  int stage_bytes = ((tables_end > tiles_end ? tables_end : tiles_end) + 1023) / 1024 * 1024;
  /// Bytes that arrive for a stage.
  int arriving = (2 * key_tiles + value_groups + (key_gates ? key_tiles : 0)) * tile_bytes;

  // Of the block.
  int outputs = stages * stage_bytes;
  int sums = outputs + value_groups * tile_bytes;
  int token_gates = sums + parts * keys * 4;
  int bonuses = token_gates + tokens * 4;
  int barriers = bonuses + key_tiles * tokens * 4;
  int bytes = barriers + 3 * stages * 8 + 1024;  ///< 1024: to align the first tile
};

}  // namespace gla_bench::linear_recurrence
