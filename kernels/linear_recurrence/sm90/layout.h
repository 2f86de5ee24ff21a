#pragma once
// Shared memory of chunk_sm90, for the kernel and for the host code that asks for it. Includes no
// standard headers, because NVRTC has none.

namespace gla_bench::linear_recurrence {

/// Offsets, bytes and counts follow from the first ten members. A tile is 64 tokens of 64 columns,
/// in rows of 128 bytes; a tile of gates in float32 has 32 columns.
struct ChunkSm90Layout {
  int key_dim;              ///< K
  int cluster;              ///< blocks that share the keys of a slice of V
  int value_groups;         ///< warpgroups that hold a block's state
  int value_tiles;          ///< tiles of 64 columns of V that each of them owns
  int preparers;            ///< warpgroups that prepare chunks
  int stages;               ///< chunks in flight
  bool key_gates;           ///< a decay for each key: the gates are a tile like q and k
  bool apart = false;       ///< each warpgroup that prepares has its own chunks
  bool joined = false;      ///< a sequence's segments are a cluster and pass their states on
  bool wide_gates = false;  ///< gates per key in float32

  static constexpr int tokens = 64, columns = 64, tile_bytes = tokens * 128;
  /// Groups of eight tokens, which have a frame each where gates are strong. With a decay for each
  /// key, a preparing thread has one such group.
  static constexpr int blocks = 8;
  static constexpr int stage_barriers = 6;

  /// Counts for one block.
  int key_tiles = key_dim <= 64 * cluster ? 1 : key_dim <= 128 * cluster ? 2 : 4;
  int keys = key_tiles * columns;
  int values = value_groups * value_tiles;  ///< tiles of V
  int threads = 128 * (1 + preparers + value_groups);
  int together = apart ? 1 : preparers;  ///< warpgroups that prepare the same chunk
  /// Keys that a preparing thread has.
  int neighbours = 4 * key_tiles / together > 8 ? 8 : 4 * key_tiles / together;

  int gate_tiles = !key_gates ? 0 : wide_gates ? 2 * key_tiles : key_tiles;
  int gate_columns = wide_gates ? 32 : columns;  ///< of one of these tiles

  // Offsets within a stage, in bytes from its beginning. Scores and tables take the gates' place
  // once the gates have been read. Gates in float32 are read until the scores are formed, so their
  // tables have a place of their own.
  int q = 0;
  int k = key_tiles * tile_bytes;
  int v = 2 * key_tiles * tile_bytes;
  int gates = v + values * tile_bytes;
  int scores = gates;
  int tiles_end = gates + gate_tiles * tile_bytes;
  int factor = wide_gates ? tiles_end : scores + tile_bytes;
  int before_update = factor + keys * 4;
  int after_update = before_update + keys * 4;
  int frames = after_update + keys * 4;                      ///< the strong chunks' table
  int moves = frames + (key_gates ? blocks * keys * 4 : 0);  ///< what takes q and k on from there
  int strong = moves + (key_gates ? blocks * keys * 4 : 0);
  /// One word, used where only states are computed: whether the backwards walk ends with this
  /// chunk.
  int last = key_gates ? strong : factor + 4;
  int tables_end = key_gates ? strong + 16 : factor + 16;
  int stage_bytes = ((tables_end > tiles_end ? tables_end : tiles_end) + 1023) / 1024 * 1024;
  /// Bytes that arrive for a stage: gates, k, v, and q where outputs are asked for.
  int arriving_gates = gate_tiles * tile_bytes;
  int arriving_k = key_tiles * tile_bytes, arriving_q = arriving_k;
  int arriving_v = values * tile_bytes;

  // Offsets within the block's memory. Each block of a cluster has the outputs of its own keys. It
  // adds up those of all blocks for its share of the tiles, `own` of them. The sums from the other
  // blocks arrive in float32.
  int own = values / cluster;
  int sum_bytes = 2 * tile_bytes;
  int received = stages * stage_bytes;
  int passed = received;  ///< the state that a segment begins with, in float32
  int outputs = received + own * (cluster - 1) * sum_bytes + (joined ? values * keys * 256 : 0);
  // What the preparing warps share. Each warpgroup has its own where they prepare separate chunks.
  int sums = outputs + own * tile_bytes;
  int sums_bytes = key_gates ? 4 * together * keys * 4 : 0;  ///< of a chunk: a row for each warp
  int bonuses = sums + sums_bytes;
  int fades = bonuses + (key_gates ? tokens * 4 : 0);
  int token_sums = fades + blocks * 4;  ///< of two chunks
  int scratch_bytes = token_sums + 2 * tokens * 4 - sums;
  int decays = sums + preparers / together * scratch_bytes;  ///< log2, of a segment's chunks
  int barriers = decays + (joined ? stages * (key_gates ? keys : 4) * 4 : 0);
  /// The last mbarriers: two for each tile of V, or one for the state.
  int exchange = barriers + stage_barriers * stages * 8;
  int bytes = exchange + (cluster > 1 ? values * 16 : joined ? 16 : 0) + 1024;  ///< 1024: to align
};

}  // namespace gla_bench::linear_recurrence
