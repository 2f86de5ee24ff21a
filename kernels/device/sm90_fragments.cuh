#pragma once
// A tile of two-byte elements that lies in shared memory row by row, read and written by warps as
// the columns of a product's accumulators: row and column change places on the way.

#include "device/sm90.cuh"

namespace gla_bench::device::sm90 {

/// Loads four matrices of 8 x 8 elements, each transposed. Lane l gives the address of row l % 8 of
/// matrix l / 8. The reverse is store_transposed() in sm90.cuh.
__device__ __forceinline__ void load_transposed(unsigned row, unsigned& a, unsigned& b, unsigned& c,
                                                unsigned& d) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(row)
               : "memory");
}

/// 16 columns of a tile of 16 `steps` rows, in one warp. words[2 n + r] has rows 8 n + 2 (lane % 4)
/// and the next one, of column lane / 4 + 8 r. As an operand A of a product over the rows,
/// words[4 m] to words[4 m + 3] are those of rows 16 m to 16 m + 15.
template <int steps>
struct SomeColumns {
  unsigned words[4 * steps];

  /// Where this lane's rows begin. `tile`: shared address of a tile with rows of 128 bytes,
  /// swizzled. `first`: number of the first of the 16 columns, below 64.
  static __device__ __forceinline__ unsigned place(unsigned tile, int first) {
    const unsigned lane = threadIdx.x % 32;
    return tile + swizzled(lane / 16 * 8 + lane % 8, 2 * first + lane / 8 % 2 * 16);
  }
  __device__ __forceinline__ void load(unsigned place) {
#pragma unroll
    for (int m = 0; m < steps; ++m)
      load_transposed(place + m * 2048, words[4 * m], words[4 * m + 1], words[4 * m + 2],
                      words[4 * m + 3]);
  }
  __device__ __forceinline__ void store(unsigned place) const {
#pragma unroll
    for (int m = 0; m < steps; ++m)
      store_transposed(place + m * 2048, words[4 * m], words[4 * m + 1], words[4 * m + 2],
                       words[4 * m + 3]);
  }
  /// The element of row 8 n + 2 (lane % 4) + e and column lane / 4 + 8 r.
  __device__ __forceinline__ float at(int n, int r, int e) const {
    return e == 0 ? low_of(words[2 * n + r]) : high_of(words[2 * n + r]);
  }
  __device__ __forceinline__ void set(int n, int r, float first, float second) {
    words[2 * n + r] = pack(first, second);
  }
  __device__ __forceinline__ void operand(int m, unsigned (&a)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = words[4 * m + i];
  }
};
using Columns = SomeColumns<4>;

}  // namespace gla_bench::device::sm90
