#pragma once
// Stores tiles of float32 from shared memory to rows of a tensor in device memory, with the widest
// legal access.

#include "device/types.cuh"

namespace gla_bench::device {

/// The factor for rows that are stored as they are.
struct NoFactor {
  __device__ __forceinline__ float operator()(int) const { return 1.0f; }
};

/// A block of `threads` writes rows x valid_columns floats, times factor(row) and rounded to T. The
/// rows in shared memory are `ld` apart, those of the target `stride` elements. columns: of the
/// tile. row_elements: of the tensor's whole row, which decides the alignment. target must lie a
/// multiple of 16 bytes after the start of such a row.
template <int threads, int columns, int row_elements, typename T, typename Factor = NoFactor>
__device__ __forceinline__ void store_rows(T* target, long long stride, const float* source, int ld,
                                           int rows, int valid_columns, Factor factor = {}) {
  constexpr int width =
      widest_access(row_elements * static_cast<int>(sizeof(T))) / static_cast<int>(sizeof(T));
  constexpr int per_row = (columns + width - 1) / width;
  for (int i = threadIdx.x; i < rows * per_row; i += threads) {
    const int row = i / per_row, column = i % per_row * width;
    if (column >= valid_columns) continue;
    const float by = factor(row);
    Pack<T, width> pack;
#pragma unroll
    for (int n = 0; n < width; ++n)
      pack.value[n] = from_float<T>(by * source[row * ld + column + n]);
    *reinterpret_cast<Pack<T, width>*>(target + row * stride + column) = pack;
  }
}

}  // namespace gla_bench::device
