#pragma once
// What constants of namespace trait mean to the kernels of attention: how inputs lie in memory.

#include "device/types.cuh"
#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// The type in which log decays per token are stored.
using gate_t = device::Choice<(trait::float32_gates != 0), float, io_t>::type;

/// What decides the alignment of rows of q and k, and of rows of v: the length of a row. Where rows
/// are slices of wider rows, whatever divides both lengths divides all places.
inline constexpr int key_alignment =
    trait::packed_inputs != 0 ? dim::key_dim | dim::value_dim : dim::key_dim;
inline constexpr int value_alignment =
    trait::packed_inputs != 0 ? dim::key_dim | dim::value_dim : dim::value_dim;

/// The strides of gradients. Kernels have those of q, k and v in registers, which are the same
/// unless q, k and v are slices of wider rows.
__device__ __forceinline__ const TokenStrides& dq_strides(const AttentionParams& p) {
  if constexpr (trait::packed_inputs != 0)
    return p.dq_strides;
  else
    return p.query_strides;
}
__device__ __forceinline__ const TokenStrides& dk_strides(const AttentionParams& p) {
  if constexpr (trait::packed_inputs != 0)
    return p.dk_strides;
  else
    return p.key_strides;
}
__device__ __forceinline__ const TokenStrides& dv_strides(const AttentionParams& p) {
  if constexpr (trait::packed_inputs != 0)
    return p.dv_strides;
  else
    return p.value_strides;
}

}  // namespace gla_bench::softmax_attention
