#pragma once
// Matrix products of one warp from float32 operands. products.cuh explains what the members mean.

#include "device/mma.cuh"
#include "device/types.cuh"

namespace gla_bench::device {

/// Operands in float32. With terms = 1 they are rounded to tf32. With terms = 3 each is split into
/// two tf32 parts, and the three larger products of the parts are summed, which is nearly float32.
/// The tensor cores truncate sums instead of rounding them. With three terms, each step therefore
/// sums from zero, and the result is added with an ordinary, rounding addition.
template <int terms>
struct Tf32Products {
  using element = float;
  static constexpr int depth = 8;
  struct A {
    unsigned r[4], rest[4];
  };
  struct B {
    unsigned r[2], rest[2];
  };
  using Score = B;

  static __device__ __forceinline__ float rounded(float x) {
    return terms == 1 ? __uint_as_float(round_tf32(x)) : x;
  }
  static __device__ __forceinline__ void store_rounded(element* p, float x, float y) {
    store_pair(p, rounded(x), rounded(y));
  }

  static __device__ __forceinline__ A load_rows(const element* p, int ld) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float2 upper = load_pair(p + g * ld + 2 * t), lower = load_pair(p + (g + 8) * ld + 2 * t);
    A a;
    put_rounded(a, 0, upper.x);
    put_rounded(a, 1, lower.x);
    put_rounded(a, 2, upper.y);
    put_rounded(a, 3, lower.y);
    return a;
  }
  /// Not for paired contractions. T: any dtype, exact in float32.
  template <typename T>
  static __device__ __forceinline__ A load_columns(const T* p, int ld) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    A a;
#pragma unroll
    for (int i = 0; i < 4; ++i) put(a, i, to_float(p[(t + i / 2 * 4) * ld + g + i % 2 * 8]));
    return a;
  }
  static __device__ __forceinline__ void load_rows(B (&b)[2], const element* p, int ld) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const float2 x = load_pair(p + (g + 8 * n) * ld + 2 * t);
      put_rounded(b[n], 0, x.x);
      put_rounded(b[n], 1, x.y);
    }
  }
  /// load_rows() of values that did not go through rounded(). T: any dtype.
  template <typename T>
  static __device__ __forceinline__ A load_raw_rows(const T* p, int ld) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const float2 upper = load_pair(p + g * ld + 2 * t), lower = load_pair(p + (g + 8) * ld + 2 * t);
    A a;
    put(a, 0, upper.x);
    put(a, 1, lower.x);
    put(a, 2, upper.y);
    put(a, 3, lower.y);
    return a;
  }
  template <typename T>
  static __device__ __forceinline__ void load_raw_rows(B (&b)[2], const T* p, int ld) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const float2 x = load_pair(p + (g + 8 * n) * ld + 2 * t);
      put(b[n], 0, x.x);
      put(b[n], 1, x.y);
    }
  }
  static __device__ __forceinline__ void store_scores(element* p, int, float x, float y) {
    store_rounded(p, x, y);
  }
  /// Not for paired contractions.
  static __device__ __forceinline__ void load_scores(Score (&b)[2], const element* p, int ld, int) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      put_rounded(b[i / 2], i % 2, p[(g + i / 2 * 8) * ld + t + i % 2 * 4]);
  }
  /// Not for paired contractions.
  static __device__ __forceinline__ void load_columns(B (&b)[2], const element* p, int ld) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      put_rounded(b[i / 2], i % 2, p[(t + i % 2 * 4) * ld + g + i / 2 * 8]);
  }
  /// Not for paired contractions; for values that did not go through rounded(). T: any dtype.
  template <typename T>
  static __device__ __forceinline__ void load_raw_columns(B (&b)[2], const T* p, int ld) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      put(b[i / 2], i % 2, to_float(p[(t + i % 2 * 4) * ld + g + i / 2 * 8]));
  }
  /// For paired contractions of values that did not go through rounded(). T: any dtype.
  template <typename T>
  static __device__ __forceinline__ void load_paired_columns(B (&b)[2], const T* p, int ld) {
    const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      put(b[i / 2], i % 2, to_float(p[(2 * t + i % 2) * ld + g + i / 2 * 8]));
  }
  template <int tiles>
  static __device__ __forceinline__ A from_accumulators(const float (&c)[tiles][4], int step) {
    A a;
    put(a, 0, c[step][0]);
    put(a, 1, c[step][2]);
    put(a, 2, c[step][1]);
    put(a, 3, c[step][3]);
    return a;
  }
  /// Multiplies A(m, k) by factors[k], for an operand from load_columns().
  static __device__ __forceinline__ A scaled(const A& a, const float* factors) {
    const int t = threadIdx.x % 4;
    A b;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float x = __uint_as_float(a.r[i]) + __uint_as_float(a.rest[i]);
      put(b, i, x * factors[t + i / 2 * 4]);
    }
    return b;
  }
  static __device__ __forceinline__ A lower_rows(const A& a) {
    return {{0, a.r[1], 0, a.r[3]}, {0, a.rest[1], 0, a.rest[3]}};
  }
  static __device__ __forceinline__ A upper_rows(const A& a) {
    return {{a.r[0], 0, a.r[2], 0}, {a.rest[0], 0, a.rest[2], 0}};
  }

  static __device__ __forceinline__ void multiply(float (&c)[4], const A& a, const B& b) {
    if constexpr (terms == 1) {
      mma_tf32(c, a.r, b.r);
    } else {
      float sum[4] = {};
      mma_tf32(sum, a.rest, b.r);
      mma_tf32(sum, a.r, b.rest);
      mma_tf32(sum, a.r, b.r);
#pragma unroll
      for (int i = 0; i < 4; ++i) c[i] += sum[i];
    }
  }

 private:
  template <typename Operand>
  static __device__ __forceinline__ void put(Operand& operand, int i, float x) {
    operand.r[i] = round_tf32(x);
    operand.rest[i] = terms == 1 ? 0 : round_tf32(x - __uint_as_float(operand.r[i]));
  }
  /// put() for a value that went through rounded().
  template <typename Operand>
  static __device__ __forceinline__ void put_rounded(Operand& operand, int i, float x) {
    if constexpr (terms == 1) {
      operand.r[i] = __float_as_uint(x);
      operand.rest[i] = 0;
    } else {
      put(operand, i, x);
    }
  }
};

}  // namespace gla_bench::device
