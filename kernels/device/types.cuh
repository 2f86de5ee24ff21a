#pragma once
// Element types. Converts between what tensors store (io_t: float, __nv_bfloat16 or __half) and
// float, one element or two neighbours at a time.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace gla_bench::device {

template <typename A, typename B>
inline constexpr bool is_same = false;
template <typename A>
inline constexpr bool is_same<A, A> = true;

/// `type` is A where `first`, else B.
template <bool first, typename A, typename B>
struct Choice {
  using type = A;
};
template <typename A, typename B>
struct Choice<false, A, B> {
  using type = B;
};

__device__ __forceinline__ float to_float(float x) {
  return x;
}
__device__ __forceinline__ float to_float(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
__device__ __forceinline__ float to_float(__half x) {
  return __half2float(x);
}

/// Rounds to the nearest T, ties to even.
template <typename T>
__device__ __forceinline__ T from_float(float x) {
  if constexpr (is_same<T, __nv_bfloat16>)
    return __float2bfloat16_rn(x);
  else if constexpr (is_same<T, __half>)
    return __float2half_rn(x);
  else
    return x;
}

/// Loads elements 0 and 1 at p. p must be aligned to both elements together.
__device__ __forceinline__ float2 load_pair(const float* p) {
  return *reinterpret_cast<const float2*>(p);
}
__device__ __forceinline__ float2 load_pair(const __nv_bfloat16* p) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(p));
}
__device__ __forceinline__ float2 load_pair(const __half* p) {
  return __half22float2(*reinterpret_cast<const __half2*>(p));
}

__device__ __forceinline__ void store_pair(float* p, float x, float y) {
  *reinterpret_cast<float2*>(p) = make_float2(x, y);
}
__device__ __forceinline__ void store_pair(__nv_bfloat16* p, float x, float y) {
  *reinterpret_cast<__nv_bfloat162*>(p) = __floats2bfloat162_rn(x, y);
}
__device__ __forceinline__ void store_pair(__half* p, float x, float y) {
  *reinterpret_cast<__half2*>(p) = __floats2half2_rn(x, y);
}

/// n elements that are moved with one access.
template <typename T, int n>
struct alignas(n * sizeof(T)) Pack {
  T value[n];
};

/// The widest power of two, at most 16, that divides `bytes`. Rows of that many bytes, stored one
/// after the other from an aligned base, are aligned to it.
__host__ __device__ constexpr int widest_access(int bytes) {
  return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

}  // namespace gla_bench::device
