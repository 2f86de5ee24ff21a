#pragma once
// Sizes of cublas.cuh, stated once for the kernels and for their host side. Includes nothing and
// has no function, because NVRTC takes a plain function for host code.

namespace gla_bench::linear_recurrence {

/// The sizes that do not depend on the number of tokens.
struct CublasLayout {
  /// Threads of the kernels that scan scalar gates and that give scores their decay.
  static constexpr int scan_threads = 256, decay_threads = 256;

  int key_dim, value_dim, io_bytes, gate_bytes;
  int block;  ///< the longest leaf: the tile of the kernel that scores the leaves
  int normalized = 0, bonus = 0;  ///< the member of the family (0 or 1 each)

  /// Leading dimensions of the workspace's rows, chosen for whole accesses of 16 bytes.
  int key_ld = (key_dim + 7) / 8 * 8;
  int value_ld = (value_dim + normalized + 7) / 8 * 8;  // with a column of ones for a normalizer
  /// Threads of the kernels without products: one per key, or one per column.
  int row_threads = key_dim < 33 ? 32 : key_dim < 65 ? 64 : 128;
  int value_threads = value_dim < 33 ? 32 : value_dim < 65 ? 64 : 128;

  /// Shared memory for the leaves' scores: raw q, k and g tiles [block, tile_ld], sums, and two
  /// operand tiles in float32.
  int score_threads = 2 * block;
  int chunk = (key_dim + 15) / 16 * 16 < 64 ? (key_dim + 15) / 16 * 16 : 64;
  int chunks = (key_dim + chunk - 1) / chunk;
  int tile_ld = chunk + 8;
  int raw_tile = block * tile_ld * io_bytes;
  int raw_gates = 2 * raw_tile;
  int sums = raw_gates + block * tile_ld * gate_bytes;
  int operands = sums + block / 8 * chunk * 4;
  int operand_tile = block * tile_ld * 4;
  int rows = operands + 2 * operand_tile;  // the tokens' scores with themselves, for a bonus
  int score_shared_bytes = rows + 4 * block * bonus;
};

/// A sequence is cut into 2^levels leaves of the same length. The length is a multiple of 4 and at
/// most `block`. The last leaves may lie partly or wholly beyond the end of the sequence.
struct CublasTree {
  long long seq, leaves;
  long long leaf = ((seq + leaves - 1) / leaves + 3) / 4 * 4;
  long long padded = leaf * leaves;
  /// Elements between two sequences' scores. For halves of L tokens, each pair of halves lies 2 L
  /// (padded + 1) elements after the pair before it. This stride keeps all pairs of all sequences
  /// in one arithmetic progression, so one strided product serves a level.
  long long score_stride = padded * (padded + 1);
};

}  // namespace gla_bench::linear_recurrence
