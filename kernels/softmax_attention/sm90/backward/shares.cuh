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

/// Which rows and columns of a result the sums of the two consumers belong to. They divide columns,
/// or each has 64 rows. `second_column`: where the columns of the second consumer begin. Columns
/// below `of_first` are the first consumer's alone, though both may have them.
template <bool by_columns, int second_column, int of_first>
struct Halves {
  static constexpr bool divides_columns = by_columns;
  static __device__ __forceinline__ int first_row(int consumer) {
    return by_columns ? 0 : consumer * layout.rows;
  }
  static __device__ __forceinline__ int first_column(int consumer) {
    return by_columns ? consumer * second_column : 0;
  }
  static __device__ __forceinline__ bool owns(int consumer, int column) {
    return consumer == 0 || column >= of_first;
  }
};
inline constexpr int second_key_column =
    (layout.key_panels - layout.own_key_panels) * layout.columns;
inline constexpr int keys_of_first = layout.by_columns ? layout.own_key_width : 0;
using HalvesOfKeys = Halves<layout.by_columns, second_key_column, keys_of_first>;
using HalvesOfValues =
    Halves<layout.by_columns, (layout.value_panels - layout.own_value_panels) * layout.columns,
           layout.by_columns ? layout.own_value_width : 0>;
using HalvesOfDq =
    Halves<layout.dq_by_columns, layout.by_columns ? second_key_column : 2 * layout.dq_floats,
           keys_of_first>;

}  // namespace gla_bench::softmax_attention::sm90
