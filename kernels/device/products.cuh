#pragma once
// Matrix products of one warp in a given arithmetic: the loads of operands, and one step of the
// contraction. Both classes have the same members, so that a kernel is written once for all dtypes:
//   element   what shared memory holds of operands that the kernel forms itself
//   depth     length of the contraction that one step covers
//   padding   elements to add to a multiple of 16 for a leading dimension whose loads are free of
//             bank conflicts when a row is the contraction (or is loaded transposed)
//   A, B      registers of a 16 x depth and a depth x 8 operand
//   Score     the same as B, of an operand that needs more precision than one element has
//
// Loads are free of bank conflicts if leading dimensions are 8 more than a multiple of 16 elements
// (4 more for scores in float32). Inside a step, the order of a contraction's indices is free as
// long as A and B agree. Tf32Products uses that along "paired" contractions, whose A operand may
// come from accumulators: a lane takes two neighbours (2t, 2t+1) where the instruction names (t,
// t+4).

#include "device/mma.cuh"
#include "device/tf32_products.cuh"
#include "device/types.cuh"

namespace gla_bench::device {

/// Products with operands in bfloat16 or float16 (T) and sums in float32.
template <typename T>
struct SixteenBitProducts {
  using element = T;
  static constexpr int depth = 16;
  struct A {
    unsigned r[4];
  };
  struct B {
    unsigned r[2];
  };
  struct Score {
    unsigned r[2], rest[2];
  };

  static __device__ __forceinline__ element rounded(float x) { return from_float<T>(x); }
  static __device__ __forceinline__ void store_rounded(element* p, float x, float y) {
    store_pair(p, x, y);
  }

  /// A(m, k) = p[m * ld + k]
  static __device__ __forceinline__ A load_rows(const element* p, int ld) {
    const int lane = threadIdx.x % 32, matrix = lane / 8;
    A a;
    load_matrices(a.r, p + (matrix % 2 * 8 + lane % 8) * ld + matrix / 2 * 8);
    return a;
  }
  /// A(m, k) = p[k * ld + m]
  static __device__ __forceinline__ A load_columns(const element* p, int ld) {
    const int lane = threadIdx.x % 32, matrix = lane / 8;
    A a;
    load_matrices_transposed(a.r, p + (matrix / 2 * 8 + lane % 8) * ld + matrix % 2 * 8);
    return a;
  }
  /// B(k, n) = p[n * ld + k] for two neighbouring tiles of 8 columns n.
  static __device__ __forceinline__ void load_rows(B (&b)[2], const element* p, int ld) {
    const int lane = threadIdx.x % 32, matrix = lane / 8;
    unsigned r[4];
    load_matrices(r, p + (matrix / 2 * 8 + lane % 8) * ld + matrix % 2 * 8);
    b[0] = {{r[0], r[1]}};
    b[1] = {{r[2], r[3]}};
  }
  /// Stores two neighbours of a row of scores: the rounded values, and `apart` elements further on
  /// what rounding lost. A score multiplies a whole row of outputs, so its rounding error would not
  /// average out.
  static __device__ __forceinline__ void store_scores(element* p, int apart, float x, float y) {
    const unsigned both = pair(x, y);
    const float2 kept = unpacked(both);
    *reinterpret_cast<unsigned*>(p) = both;
    store_pair(p + apart, x - kept.x, y - kept.y);
  }
  /// load_rows() of stored scores, for a contraction whose A operand comes from load_columns().
  static __device__ __forceinline__ void load_scores(Score (&b)[2], const element* p, int ld,
                                                     int apart) {
    B main[2], rest[2];
    load_rows(main, p, ld);
    load_rows(rest, p + apart, ld);
#pragma unroll
    for (int n = 0; n < 2; ++n) b[n] = {{main[n].r[0], main[n].r[1]}, {rest[n].r[0], rest[n].r[1]}};
  }
  /// B(k, n) = p[k * ld + n] for two neighbouring tiles of 8 columns n.
  static __device__ __forceinline__ void load_columns(B (&b)[2], const element* p, int ld) {
    const int lane = threadIdx.x % 32, matrix = lane / 8;
    unsigned r[4];
    load_matrices_transposed(r, p + (matrix % 2 * 8 + lane % 8) * ld + matrix / 2 * 8);
    b[0] = {{r[0], r[1]}};
    b[1] = {{r[2], r[3]}};
  }
  /// load_rows() of values as they were loaded. Here there is nothing to round.
  static __device__ __forceinline__ A load_raw_rows(const element* p, int ld) {
    return load_rows(p, ld);
  }
  static __device__ __forceinline__ void load_raw_rows(B (&b)[2], const element* p, int ld) {
    load_rows(b, p, ld);
  }
  static __device__ __forceinline__ void load_raw_columns(B (&b)[2], const element* p, int ld) {
    load_columns(b, p, ld);
  }
  /// The same for a contraction whose A operand comes from accumulators or load_rows().
  static __device__ __forceinline__ void load_paired_columns(B (&b)[2], const element* p, int ld) {
    load_columns(b, p, ld);
  }
  /// The part of a row of accumulator tiles that one step of a contraction over its columns takes.
  template <int tiles>
  static __device__ __forceinline__ A from_accumulators(const float (&c)[tiles][4], int step) {
    const float(&low)[4] = c[2 * step], (&high)[4] = c[2 * step + 1];
    return {{pair(low[0], low[1]), pair(low[2], low[3]), pair(high[0], high[1]),
             pair(high[2], high[3])}};
  }
  /// Multiplies A(m, k) by factors[k], for an operand from load_columns().
  static __device__ __forceinline__ A scaled(const A& a, const float* factors) {
    const int t = threadIdx.x % 4;
    const float2 low = load_pair(factors + 2 * t), high = load_pair(factors + 2 * t + 8);
    return {{scaled(a.r[0], low), scaled(a.r[1], low), scaled(a.r[2], high), scaled(a.r[3], high)}};
  }
  /// a with its rows 0..7 (8..15) set to zero.
  static __device__ __forceinline__ A lower_rows(const A& a) {
    return {{0, a.r[1], 0, a.r[3]}};
  }
  static __device__ __forceinline__ A upper_rows(const A& a) {
    return {{a.r[0], 0, a.r[2], 0}};
  }

  static __device__ __forceinline__ void multiply(float (&c)[4], const A& a, const B& b) {
    multiply(c, a.r, b.r);
  }
  static __device__ __forceinline__ void multiply(float (&c)[4], const A& a, const Score& b) {
    multiply(c, a.r, b.rest);
    multiply(c, a.r, b.r);
  }

 private:
  static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4],
                                                  const unsigned (&b)[2]) {
    if constexpr (is_same<T, __half>)
      mma_float16(c, a, b);
    else
      mma_bfloat16(c, a, b);
  }
  static __device__ __forceinline__ unsigned scaled(unsigned both, float2 factor) {
    const float2 x = unpacked(both);
    return pair(x.x * factor.x, x.y * factor.y);
  }
  static __device__ __forceinline__ unsigned pair(float x, float y) {
    if constexpr (is_same<T, __half>) {
      const __half2 both = __floats2half2_rn(x, y);
      return *reinterpret_cast<const unsigned*>(&both);
    } else {
      const __nv_bfloat162 both = __floats2bfloat162_rn(x, y);
      return *reinterpret_cast<const unsigned*>(&both);
    }
  }
  static __device__ __forceinline__ float2 unpacked(unsigned both) {
    if constexpr (is_same<T, __half>)
      return __half22float2(*reinterpret_cast<const __half2*>(&both));
    else
      return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&both));
  }
};

using Bfloat16Products = SixteenBitProducts<__nv_bfloat16>;
using Float16Products = SixteenBitProducts<__half>;

template <typename T, int terms, int key_dim>
struct ProductsOf {
  using type = Tf32Products<terms>;
};
template <int terms, int key_dim>
struct ProductsOf<__nv_bfloat16, terms, key_dim> {
  using type = typename Choice<(key_dim >= 16), Bfloat16Products, Tf32Products<terms>>::type;
};

/// How a problem of dtype T multiplies matrices. bfloat16 uses its own format, unless there are so
/// few keys that its rounding errors do not average out. float16 uses tf32, because a state can
/// exceed float16's range. float32 uses tf32 or, with three terms, products close to float32.
template <typename T, int terms, int key_dim>
using Products = typename ProductsOf<T, terms, key_dim>::type;

}  // namespace gla_bench::device
