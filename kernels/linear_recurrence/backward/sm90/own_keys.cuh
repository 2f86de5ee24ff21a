#pragma once
// What the walks forwards and the one back have in common: the keys that a warpgroup owns of a
// state, or of the gradient of one.

#include "linear_recurrence/backward/sm90/decays.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// A warpgroup that owns 64 keys, as the rows of accumulators of a product [keys, V]. A warp has 16
/// of them.
template <Pass pass>
class OwnKeys {
 public:
  __device__ __forceinline__ OwnKeys(const GradientSm90Params& p, const Block<pass>& block)
      : p_(p),
        block_(block),
        of_(p.base, block.pair),
        warp_(static_cast<int>(threadIdx.x) / 32 % 4),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

 protected:
  static constexpr GradientSm90Layout sizes = layout_of<pass>;

  __device__ __forceinline__ int warp_of_all() const { return 4 * group() + warp_; }
  __device__ __forceinline__ int column_in_tile() const { return 16 * warp_; }
  /// Number of the thread's key of row r, among all of the sequence.
  __device__ __forceinline__ int key(int r) const {
    return block_.first_key() + 64 * group() + 16 * warp_ + lane_ / 4 + 8 * r;
  }
  template <class Decays>
  __device__ __forceinline__ void load_decays(const Stage& stage, int c, Decays& own) const {
    own.load(stage.begin + sizes.gate + group() * (sizes.gate_tiles / groups) * tile_bytes,
             stage.begin + sizes.token_gates, column_in_tile(), of_, block_.valid(c));
  }
  /// Where the warp's columns of the tiles of all keys are.
  __device__ __forceinline__ unsigned own_columns(unsigned tiles) const {
    return Columns::place(tiles + group() * tile_bytes, column_in_tile());
  }
  /// Calls act(i, key, column) for the thread's elements of a state that exist.
  template <class Act>
  __device__ __forceinline__ void for_each_element(Act act) const {
#pragma unroll
    for (int i = 0; i < width64 / 2; ++i) {
      const int column = block_.first_column() + i / 4 * 8 + lane_ % 4 * 2 + i % 2;
      const int row = key(i / 2 % 2);
      if (row < keys && column < values) act(i, row, column);
    }
  }
  __device__ __forceinline__ static void scale_keys(float (&x)[width64 / 2],
                                                    const float (&factor)[2]) {
#pragma unroll
    for (int i = 0; i < width64 / 2; ++i) x[i] *= factor[i / 2 % 2];
  }
  /// x + sum over tokens of `rows` times `columns`, begun. `columns`: tiles of 64 columns of V.
  template <class By = ByWarpgroup>
  __device__ __forceinline__ static void multiply(const Columns& rows, unsigned columns,
                                                  float (&x)[width64 / 2]) {
    By::fence();
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      unsigned a[4];
      rows.operand(m, a);
      By::template Of<width64>::template registers<along_mn>(
          x, a, operand(columns + m * 2048, tile_bytes), true);
    }
    By::commit();
  }

  const GradientSm90Params& p_;
  const Block<pass>& block_;
  Sequence of_;
  int warp_, lane_;
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
