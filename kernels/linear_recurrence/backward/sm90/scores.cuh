#pragma once
// The scores of a chunk and their gradients, A and dA, as tiles [queries, keys] in bfloat16.

#include "linear_recurrence/backward/sm90/decays.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// d = X Y^T over `tiles` tiles of 64 columns.
template <int tiles, class By = ByWarpgroup>
__device__ __forceinline__ void multiply_rows(float (&d)[32], unsigned x, unsigned y) {
  By::fence();
#pragma unroll
  for (int m = 0; m < 4 * tiles; ++m) {
    const unsigned place = m / 4 * tile_bytes + m % 4 * 32;
    By::template Of<64>::template shared<along_k>(d, operand(x + place), operand(y + place), m > 0);
  }
  By::commit();
}

/// Stores element (i, j) of accumulators [64, 64] as value(element, i, j, n, r, e), where n, r and
/// e say which of the thread's elements it is.
template <class Value>
__device__ __forceinline__ void store_square(unsigned tile, const float (&d)[32], Value value) {
  const int lane = static_cast<int>(threadIdx.x) % 32,
            warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const unsigned row = 16 * warp + lane / 8 % 2 * 8 + lane % 8;
  const auto element = [&](int n, int r, int e) {
    return value(d[at(n, r, e)], 16 * warp + lane / 4 + 8 * r, 8 * n + lane % 4 * 2 + e, n, r, e);
  };
  const auto word = [&](int n, int r) { return pack(element(n, r, 0), element(n, r, 1)); };
#pragma unroll
  for (int n = 0; n < 8; n += 2)
    store_matrices(tile + swizzled(row, 16 * (n + lane / 16)), word(n, 0), word(n, 1),
                   word(n + 1, 0), word(n + 1, 1));
}

}  // namespace gla_bench::linear_recurrence::backward::sm90
