#pragma once
// Sizes of a ring of row tiles (ring.cuh) or of pieces of rows (pieces.cuh), stated once for the
// kernels and for their host side. The file includes nothing, because NVRTC has no standard
// headers.

namespace gla_bench::softmax_attention {

/// Use it as RowRingLayout{...}. Everything is a default member value, because NVRTC accepts only
/// device functions.
struct RowRingLayout {
  long long columns;
  int io_bytes;
  int cluster;  ///< blocks that share a row
  int rows;     ///< rows of a tile
  int stages;   ///< tiles, or pieces, in shared memory
  int inputs;   ///< tensors of which a tile has rows; the outputs take the place of the last one
  int threads;  ///< threads of each block that share a row
  int piece;    ///< KiB of each tensor that come and go together; 0: whole tiles

  static constexpr int vector_bytes = 16;
  /// Whether every row begins and ends at a multiple of 16 bytes.
  bool aligned = columns * io_bytes % vector_bytes == 0;

  // A tile that does not begin at such a multiple reaches into one vector more.
  long long tile_vectors =
      (rows * columns * io_bytes + vector_bytes - 1) / vector_bytes + (aligned ? 0 : 1);
  long long vectors = (tile_vectors + cluster - 1) / cluster;  // of one block
  long long share_bytes = vectors * vector_bytes;
  long long piece_vectors = piece > 0 ? piece * 1024 / vector_bytes : vectors;
  long long pieces = (vectors + piece_vectors - 1) / piece_vectors;  // of a tile in one block
  long long buffer_bytes = piece_vectors * vector_bytes;
  long long stage_bytes = inputs * buffer_bytes;
  // The most vectors of a row that a thread has.
  long long row_vectors =
      (columns * io_bytes + vector_bytes - 1) / vector_bytes + (aligned ? 0 : 1);
  long long thread_vectors = ((row_vectors + cluster - 1) / cluster + threads - 1) / threads;
  // Elements that a thread keeps in registers; 0: they would be too many.
  long long thread_elements = thread_vectors * (vector_bytes / io_bytes);
  long long held = thread_elements <= 32 ? thread_elements : 0;
  bool exact = aligned && thread_vectors * threads * cluster == row_vectors;
  // After the stages: pairs of floats in places of 16 bytes [2][cluster], then barriers, one for
  // each stage, two for the pairs, and with pieces another one for each stage.
  long long pairs = stages * stage_bytes;
  long long barriers = pairs + 2 * cluster * 16;
  long long bytes = barriers + ((piece > 0 ? 2 : 1) * stages + 2) * 8;
};

}  // namespace gla_bench::softmax_attention
