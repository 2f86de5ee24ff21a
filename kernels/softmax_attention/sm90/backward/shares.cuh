#pragma once
// Which keys and columns of a block a consumer has: 64 of 128 keys and all their columns, or all of
// 64 keys and half the columns (layout.h).

#include "softmax_attention/sm90/backward/block.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// The first of the consumer's keys in the block.
__device__ __forceinline__ int first_row() {
  return layout.by_columns ? 0 : group() * layout.rows;
}
/// The first of the `own` panels of `all` that the consumer has sums of.
__device__ __forceinline__ int first_panel(int all, int own) {
  return layout.by_columns ? group() * (all - own) : 0;
}
__device__ __forceinline__ int first_key_panel() {
  return first_panel(layout.key_panels, layout.own_key_panels);
}
__device__ __forceinline__ int first_value_panel() {
  return first_panel(layout.value_panels, layout.own_value_panels);
}
/// Whether this warp hands on what both consumers have alike.
__device__ __forceinline__ bool hands_on() {
  return !layout.by_columns || warp() / 2 == group();
}

}  // namespace gla_bench::softmax_attention::sm90
