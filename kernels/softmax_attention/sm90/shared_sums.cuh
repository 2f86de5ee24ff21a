#pragma once
// Sums of log decays, and pairs of floats, in shared memory, and how they come there.

#include "softmax_attention/decay_bias.cuh"

namespace gla_bench::softmax_attention::sm90 {

__device__ __forceinline__ void store_sum(unsigned address, const DecaySum& sum) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(__float_as_uint(sum.high)), "r"(__float_as_uint(sum.low)), "r"(sum.resets),
               "r"(sum.unused)
               : "memory");
}
__device__ __forceinline__ DecaySum load_sum(unsigned address) {
  unsigned high, low;
  DecaySum sum;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(high), "=r"(low), "=r"(sum.resets), "=r"(sum.unused)
               : "r"(address)
               : "memory");
  sum.high = __uint_as_float(high), sum.low = __uint_as_float(low);
  return sum;
}
__device__ __forceinline__ float2 load_two(unsigned address) {
  float2 two;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(two.x), "=f"(two.y)
               : "r"(address)
               : "memory");
  return two;
}

}  // namespace gla_bench::softmax_attention::sm90
