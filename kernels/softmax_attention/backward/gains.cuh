#pragma once
// The powers of two that keep P and dS inside the range of float16 where they become operands.

#include "device/types.cuh"
#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// Whether P and dS become float16 operands, whose range they could leave. If so, P is multiplied
/// by score_gain, and dS by score_gain and gradient_gain().
inline constexpr bool scaled = device::is_same<io_t, __half>;
inline constexpr float score_gain = scaled ? 1024.0f : 1.0f;
inline constexpr float log2_score_gain = scaled ? 10.0f : 0.0f;

/// The exponent e with x < 2^e, for a float16 value x >= 0.
__device__ __forceinline__ int exponent_above(float x) {
  const int e = (__float_as_int(x) >> 23) - 126;
  return e < -24 ? -24 : e > 17 ? 17 : e;
}

/// A power of two with score_gain * gradient_gain * |dP - D| <= 2^15 for all queries of one
/// sequence and key head.
__device__ __forceinline__ float gradient_gain(const AttentionParams& p, long long key_head) {
  constexpr int width = dim::value_dim <= 16    ? 4
                        : dim::value_dim <= 64  ? 6
                        : dim::value_dim <= 128 ? 7
                        : dim::value_dim <= 256 ? 8
                                                : 9;
  const float2 largest = static_cast<const float2*>(p.work[work::largest])[key_head];
  const int exponent = 4 - width - exponent_above(largest.x) - exponent_above(largest.y);
  return __int_as_float((exponent + 127) << 23);
}

}  // namespace gla_bench::softmax_attention
