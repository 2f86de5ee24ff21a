#pragma once
// What each query brings with it to the backward of attention: -lse and D, the sum that takes the
// softmax's normalisation back.

#include "device/math.cuh"
#include "device/types.cuh"
#include "softmax_attention/backward/gains.cuh"
#include "softmax_attention/backward/layout.h"
#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// Whether exponents are in natural units. Units of log2 save a multiplication, but in float32 the
/// rounding of -lse log2 e and scale log2 e would show where logits are large.
inline constexpr bool natural = device::is_same<io_t, float>;
inline constexpr float exponent_unit = natural ? 1.0f : device::log2_e;

inline constexpr BackwardRows row_layout{dim::value_dim, static_cast<int>(sizeof(io_t))};

/// (-lse, D) of a query: -lse in exponent_unit, with the gain of P, and D = do . o. `t` is its token
/// of batch entry `b`. The row_layout.lanes neighbouring lanes of a row call it together.
__device__ __forceinline__ float2 pair_of(const AttentionParams& p, long long b, long long h,
                                          long long t) {
  constexpr int row_width = row_layout.access / row_layout.io_bytes;
  constexpr int row_lanes = row_layout.lanes;
  using Pack = device::Pack<io_t, row_width>;
  const TokenStrides& s = p.output_strides;
  const long long at = b * s.batch + h * s.heads + t * s.seq;
  const auto* o = reinterpret_cast<const Pack*>(static_cast<const io_t*>(p.o) + at);
  const auto* d_o = reinterpret_cast<const Pack*>(static_cast<const io_t*>(p.d_o) + at);
  float sum = 0.0f;
  for (int n = threadIdx.x % row_lanes; n < dim::value_dim / row_width; n += row_lanes) {
    const Pack x = o[n], y = d_o[n];
#pragma unroll
    for (int e = 0; e < row_width; ++e)
      sum = fmaf(device::to_float(x.value[e]), device::to_float(y.value[e]), sum);
  }
  const unsigned lanes = row_lanes == 32 ? 0xffffffffu
                                         : ((1u << row_lanes % 32) - 1)
                                               << threadIdx.x % 32 / row_lanes * row_lanes;
  for (int n = row_lanes / 2; n > 0; n /= 2) sum += __shfl_xor_sync(lanes, sum, n);
  const TokenStrides& l = p.lse_strides;
  const float lse = p.lse[b * l.batch + h * l.heads + t * l.seq];
  const float exponent =
      lse == device::minus_infinity()
          ? device::minus_infinity()
          : log2_score_gain - lse * exponent_unit;  // P = 0 for a query that sees no key
  return make_float2(exponent, sum);
}

}  // namespace gla_bench::softmax_attention
