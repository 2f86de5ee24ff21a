#pragma once
// The products of a warpgroup (sm90_products.cuh) by its single warps, with mma.sync: the same
// operands, the same accumulators, and nothing that runs on while the warp does something else.
//
// A function that is called, and not inlined, can have no wgmma: the assembler would wait for each
// product of the caller at once, because it cannot follow them through a call. What is rare and
// large belongs behind a call, so that its registers are not those of the loop round it; there
// these products serve.

#include "device/sm90_fragments.cuh"
#include "device/sm90_products.cuh"

namespace gla_bench::device::sm90 {

/// D[64, n] (+)= A[64, 16] B[16, n], of which each warp of a warpgroup forms its 16 rows. Operands
/// are those of Products<n, __nv_bfloat16>.
template <int n>
struct WarpProducts {
  template <int b_along, int a_along = along_k>
  static __device__ __forceinline__ void shared(float (&d)[n / 2], unsigned long long x,
                                                unsigned long long y, bool add) {
    const unsigned lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16;
    unsigned a[4];
    if constexpr (a_along == along_k)
      load_matrices(place(x, row + lane / 8 % 2 * 8 + lane % 8, lane / 16 * 16), a);
    else
      load_transposed(place(x, lane / 16 * 8 + lane % 8, 2 * row + lane / 8 % 2 * 16), a[0], a[1],
                      a[2], a[3]);
    registers<b_along>(d, a, y, add);
  }

  template <int b_along>
  static __device__ __forceinline__ void registers(float (&d)[n / 2], const unsigned (&a)[4],
                                                   unsigned long long y, bool add) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int at = 0; at < n; at += 16) {
      unsigned b[4];
      if constexpr (b_along == along_k)
        load_matrices(place(y, at + lane / 16 * 8 + lane % 8, lane / 8 % 2 * 16), b);
      else
        load_transposed(place(y + at / 64 * next(y), lane / 8 % 2 * 8 + lane % 8,
                              2 * (at % 64) + lane / 16 * 16),
                        b[0], b[1], b[2], b[3]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float part[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) part[i] = add ? d[4 * (at / 8 + half) + i] : 0.0f;
        warp_product(part, a[0], a[1], a[2], a[3], {b[2 * half], b[2 * half + 1]});
#pragma unroll
        for (int i = 0; i < 4; ++i) d[4 * (at / 8 + half) + i] = part[i];
      }
    }
  }

 private:
  /// Shared address of a byte of a row of an operand's tile.
  static __device__ __forceinline__ unsigned place(unsigned long long operand, unsigned row,
                                                   unsigned column) {
    const unsigned at = ((static_cast<unsigned>(operand) & 0x3fffu) << 4) + 128u * row + column;
    return at ^ (at >> 3 & 0x70u);
  }
  /// What the operand of the next 64 elements along N has more.
  static __device__ __forceinline__ unsigned long long next(unsigned long long operand) {
    return operand >> 16 & 0x3fffu;
  }
};

/// How the warps of a warpgroup multiply: all at once, and later than what follows, or each for
/// itself, at once.
struct ByWarpgroup {
  template <int n>
  using Of = Products<n, __nv_bfloat16>;
  static __device__ __forceinline__ void fence() { products_fence(); }
  static __device__ __forceinline__ void commit() { products_commit(); }
  template <int left>
  static __device__ __forceinline__ void wait() {
    products_wait<left>();
  }
};
struct ByWarps {
  template <int n>
  using Of = WarpProducts<n>;
  static __device__ __forceinline__ void fence() {}
  static __device__ __forceinline__ void commit() {}
  template <int left>
  static __device__ __forceinline__ void wait() {}
};

}  // namespace gla_bench::device::sm90
