#pragma once
// Sizes of chunk_pipeline.cuh, stated once for the kernels and for their host side. Includes
// nothing, because NVRTC has no standard headers.

namespace gla_bench::linear_recurrence {

struct PipelineShape {
  int key_dim, value_dim;
  int io_bytes;       ///< of an element of the tensors
  int operand_bytes;  ///< of an element that the tensor cores are fed with
  int sum_bytes;      ///< of a sum of gates: 8 where float32's accuracy is declared, else 4
  int chunk, block_k, block_v, stages;
};

/// All of PipelineLayout{shape} is default values, because NVRTC accepts no function that is not a
/// device function.
struct PipelineLayout {
  PipelineShape shape;

  int keys = (shape.key_dim + 15) / 16 * 16;  ///< a row of the workspaces
  int blocks_k = (shape.key_dim + shape.block_k - 1) / shape.block_k;
  int blocks_v = (shape.value_dim + shape.block_v - 1) / shape.block_v;
  int product_threads = shape.block_v / 16 * 32;  ///< a warp owns 16 columns of V

  int key_ld = shape.block_k + 8;
  int value_ld = shape.block_v + 8;
  int value_tile = shape.chunk * value_ld * shape.io_bytes;

  // inter_chunk: per stage, q, k and v of a chunk and the chunk's decays.
  int operand_tile = shape.chunk * key_ld * shape.operand_bytes;
  int inter_stage = 2 * operand_tile + value_tile + shape.block_k * shape.sum_bytes;
  int inter_bytes = shape.stages * inter_stage;

  // intra_chunk: the sums of the gates, q and k in float32. The row lengths avoid bank conflicts.
  int score_row = shape.block_k + 1;
  int intra_bytes = shape.chunk * score_row * (shape.sum_bytes + 2 * 4);

  // combine: v, the scores (in bfloat16, two parts side by side) and the products in float32.
  int score_ld = shape.operand_bytes == 2 ? 2 * shape.chunk + 8 : shape.chunk + 4;
  int out_ld = shape.block_v + 4;
  int combine_scores = value_tile;
  int combine_out = combine_scores + shape.chunk * score_ld * shape.operand_bytes;
  int combine_bytes = combine_out + shape.chunk * out_ld * 4;
};

}  // namespace gla_bench::linear_recurrence
