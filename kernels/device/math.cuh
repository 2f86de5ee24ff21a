#pragma once
// Elementary functions as the special function unit computes them.

namespace gla_bench::device {

inline constexpr float log2_e = 1.44269504088896340736f;
inline constexpr float ln_2 = 0.693147180559945309417f;

/// Gates are clamped here, in nats. e^-20 = 2e-9 lies below float32's resolution of what it
/// multiplies. Sums of a few clamped gates stay finite, even if a gate is -inf.
inline constexpr float strongest_gate = -20.0f;

/// Gates that are not divided by again are only clamped here. e^-200 is 0 in float32, however large
/// the state is that it multiplies, and multiples of it are finite.
inline constexpr float vanishing_gate = -200.0f;

__device__ __forceinline__ float minus_infinity() {
  return __uint_as_float(0xff800000u);
}

/// 2^x with a relative error of about 2^-22; results below 2^-126 are zero.
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// e^g of a single gate g <= 0. Where it is near 1 it is multiplied over many tokens. exp2_fast's
/// errors are alike for like gates and would add up, so there a series is used that is good to half
/// a unit in the last place.
__device__ __forceinline__ float single_decay(float g) {
  const float series = fmaf(
      g, fmaf(g, fmaf(g, fmaf(g, fmaf(g, 1.0f / 120, 1.0f / 24), 1.0f / 6), 0.5f), 1.0f), 1.0f);
  return g > -0.125f ? series : exp2_fast(g * log2_e);
}

/// 1/x with a relative error of about 2^-23, for normal x.
__device__ __forceinline__ float reciprocal_fast(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// A gate in units of log2, clamped: log2 e * max(g, strongest_gate).
__device__ __forceinline__ float log2_gate(float g) {
  return fmaxf(g, strongest_gate) * log2_e;
}

}  // namespace gla_bench::device
