#pragma once
// Shared memory of chunk_sm90, for the kernel and for the host that asks for it. Includes no
// standard headers: NVRTC has none.

namespace gla_bench::linear_recurrence {

/// Bytes and counts follow from the first five. Tiles are 64 tokens of 64 columns in rows of 128
/// bytes.
struct ChunkSm90Layout {
  int key_dim;       ///< K
  int value_groups;  ///< groups of 64 columns of V that a block owns, of four warps each
  int preparers;     ///< groups of four warps that prepare chunks
  int stages;        ///< chunks in flight
  bool key_gates;    ///< a decay for each key: the gates are a tile like q and k

  static constexpr int tokens = 64, columns = 64, tile_bytes = tokens * 128;
  /// Of eight tokens, with a reference each where gates are strong.
  static constexpr int blocks = 8;

  int key_tiles = key_dim <= 64 ? 1 : key_dim <= 128 ? 2 : 4;
  int keys = key_tiles * columns;
  int threads = 128 * (1 + preparers + value_groups);
  /// Of a chunk's tokens, each walked by 32 * key_tiles threads that prepare.
  int parts = 4 * preparers / key_tiles;

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
  int tables_end = key_gates ? strong + 16 : factor + 16;
  int tiles_end = gates + (key_gates ? key_tiles * tile_bytes : 0);
  int stage_bytes = ((tables_end > tiles_end ? tables_end : tiles_end) + 1023) / 1024 * 1024;
  /// Bytes that arrive for a stage; where only states are asked for, without q.
  int arriving = (2 * key_tiles + value_groups + (key_gates ? key_tiles : 0)) * tile_bytes;
  int arriving_for_states = arriving - key_tiles * tile_bytes;

  // Of the block.
  int outputs = stages * stage_bytes;
  int sums = outputs + value_groups * tile_bytes;
  int bonuses = sums + (key_gates ? parts * keys * 4 : 0);
  int fades = bonuses + (key_gates ? key_tiles * tokens * 4 : 0);
  int token_sums = fades + key_tiles * blocks * 4;  ///< of two chunks
  int barriers = token_sums + 2 * tokens * 4;
  int bytes = barriers + 3 * stages * 8 + 1024;  ///< 1024: to align the first tile
};

}  // namespace gla_bench::linear_recurrence
