#pragma once
// What the constants of namespace trait mean to a kernel, in one place for the whole family: how
// raw values of q, k, gates and states become what the recurrence computes with.

#include "device/math.cuh"
#include "device/types.cuh"
#include "linear_recurrence/params.h"

namespace gla_bench::linear_recurrence {

/// What a decay depends on (Decay in family.hpp).
inline constexpr int no_decay = 0, head_decay = 1, token_decay = 2, key_decay = 3;

/// Whether every key dimension of a token has the same decay: one scalar instead of a vector.
inline constexpr bool scalar_decay = trait::decay == head_decay || trait::decay == token_decay;

/// The type in which a state's elements are stored.
using state_t = device::Choice<(trait::state_bytes == 2), __nv_bfloat16, float>::type;

/// The type in which gates per token or per key are stored.
using gate_t = device::Choice<(trait::float32_gates != 0), float, io_t>::type;

/// What decides the alignment of rows of q and k, and of rows of v: the length of a row. Where rows
/// are slices of wider rows, whatever divides both lengths divides all places.
inline constexpr int key_alignment =
    trait::packed_inputs != 0 ? dim::key_dim | dim::value_dim : dim::key_dim;
inline constexpr int value_alignment =
    trait::packed_inputs != 0 ? dim::key_dim | dim::value_dim : dim::value_dim;

/// The strides of o and of gates per key. Kernels have those of v and of q and k in registers,
/// which are the same unless q, k and v are slices of wider rows.
__device__ __forceinline__ const TokenStrides& output_strides(const LinearRecurrenceParams& p) {
  if constexpr (trait::packed_inputs != 0)
    return p.output_strides;
  else
    return p.value_strides;
}
__device__ __forceinline__ const TokenStrides& key_gate_strides(const LinearRecurrenceParams& p) {
  if constexpr (trait::packed_inputs != 0)
    return p.gate_strides;
  else
    return p.key_strides;
}

/// An element of q or k as the recurrence takes it. Padding must stay zero, but this function maps
/// zero to one with elu features. Do not call it on padding.
__device__ __forceinline__ float feature(float x) {
  if constexpr (trait::elu_features != 0)
    return x > 0.0f ? x + 1.0f : device::exp2_fast(x * device::log2_e);
  else
    return x;
}

/// The natural-log decay that an element of the gate tensor stands for.
__device__ __forceinline__ float log_decay(float g) {
  if constexpr (trait::raw_gate != 0)
    return -device::exp2_fast(g * device::log2_e);
  else
    return g;
}

/// Offset of an element within a state, key-first [K,V] or value-first [V,K].
__device__ __forceinline__ long long state_offset(int key, int value) {
  if constexpr (trait::value_first != 0)
    return static_cast<long long>(value) * dim::key_dim + key;
  else
    return static_cast<long long>(key) * dim::value_dim + value;
}

/// First token (of the batch entry) and length of one sequence. A ragged sequence has its part of
/// the tokens; any other has all `seq` of them.
struct Span {
  long long first, tokens;
};
__device__ __forceinline__ Span span_of(const LinearRecurrenceParams& p, long long n) {
  if constexpr (trait::ragged != 0)
    return {p.cu_seqlens[n], p.cu_seqlens[n + 1] - p.cu_seqlens[n]};
  else
    return {0, p.seq};
}

/// Where the states of one sequence between its first token and its last go (params.h): those after
/// each `every` tokens to the places from `first` on, one after the other, and where `last` is not
/// reached by them, the last state of a ragged sequence, too.
struct StatePlaces {
  long long first, last, heads, head;

  __device__ StatePlaces(const LinearRecurrenceParams& p, long long n, long long h)
      : heads(p.heads), head(h) {
    const Span span = span_of(p, n);
    const long long whole = p.seq / p.states_every;
    first = trait::ragged != 0 ? span.first / p.states_every : n * whole;
    last = trait::ragged != 0 ? (span.first + span.tokens) / p.states_every : first + whole;
  }
  /// Which of all states and heads in p.states the i-th one of the sequence is.
  __device__ __forceinline__ long long state(long long i) const {
    return (first + i) * heads + head;
  }
  __device__ __forceinline__ bool has(long long i) const { return first + i < last; }
};

}  // namespace gla_bench::linear_recurrence
