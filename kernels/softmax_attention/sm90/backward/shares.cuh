#pragma once
// Which keys and columns of a block a consumer has: 64 of 128 keys and all their columns, or all of
// 64 keys and a share of the columns (layout.h).

#include "softmax_attention/sm90/backward/block.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// The first of the consumer's keys in the block.
__device__ __forceinline__ int first_row() {
  return layout.by_columns ? 0 : group() * layout.rows;
}
/// Where the consumer's columns of dk, dv or dq begin, given where those of the second one do.
__device__ __forceinline__ int own_column(int of_second) {
  return group() * of_second;
}
/// Where a column stands in a tile of panels, from the tile's first one. It begins a panel or the
/// second half of one.
__device__ __forceinline__ unsigned place_of(int column, int panel_bytes) {
  return column / layout.columns * panel_bytes + column % layout.columns * 2;
}
/// Whether this warp hands on what both consumers have alike.
__device__ __forceinline__ bool hands_on() {
  return !layout.by_columns || warp() / 2 == group();
}

}  // namespace gla_bench::softmax_attention::sm90
