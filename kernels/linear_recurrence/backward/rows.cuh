#pragma once
// Elements of one sequence and head as the backward computes with them: features and decays of the
// tensors' raw values, and a normalizer as one more column of v, of the states and of the outputs.

#include "device/types.cuh"
#include "linear_recurrence/backward/params.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence::backward {

inline constexpr int keys = dim::key_dim, values = dim::value_dim;
inline constexpr bool normalized = trait::normalize != 0, bonus = trait::before_update != 0;
inline constexpr bool key_gates = trait::decay == key_decay;
/// Columns of v, the states and the outputs, with the normalizer's.
inline constexpr int width = values + (normalized ? 1 : 0);

/// The derivative of a feature by its element: e^x = feature below 0, and 1 above.
__device__ __forceinline__ float feature_slope(float feature) {
  return trait::elu_features == 0 || feature > 1.0f ? 1.0f : feature;
}

/// The scale in two factors: one for queries that are then rounded, and one for what is a sum over
/// queries, in float32. Where nothing decays, queries are multiplied by nothing else, and a scale
/// that is no power of two would round them to 16 bits in a way that has a common sign for all of
/// them: 1e-4 for 112 keys. Thus queries take the power of two alone.
struct SplitScale {
  float of_queries, of_sums;

  __device__ __forceinline__ explicit SplitScale(float scale) : of_queries(scale), of_sums(1.0f) {
    const float power = __uint_as_float(__float_as_uint(scale) & 0x7f800000u);
    if (trait::decay != no_decay || power == 0.0f) return;
    of_queries = power, of_sums = scale / power;
  }
};

/// One sequence and head. Tokens are counted from the sequence's first.
struct Sequence {
  const GradientParams& g;
  long long pair, batch, head, first, tokens;
  float constant = 0.0f;  ///< a constant decay

  __device__ Sequence(const GradientParams& params, long long number) : g(params), pair(number) {
    const long long n = pair / g.inputs.heads;
    const Span span = span_of(g.inputs, n);
    batch = trait::ragged != 0 ? 0 : n;
    head = pair % g.inputs.heads;
    first = span.first;
    tokens = span.tokens;
    // One number for all tokens, so that an error in its last bit would count T times.
    if constexpr (trait::decay == head_decay)
      constant = static_cast<float>(exp(static_cast<double>(g.inputs.log_decay[head])));
  }

  /// Where a token's row begins in a tensor of these strides.
  __device__ __forceinline__ long long at(const TokenStrides& strides, long long t) const {
    return batch * strides.batch + (first + t) * strides.seq + head * strides.heads;
  }
  /// Number of a token's row in a dense [B*H, T] array.
  __device__ __forceinline__ long long row(long long t) const {
    return (batch * g.inputs.heads + head) * g.inputs.seq + first + t;
  }

  __device__ __forceinline__ float query(long long t, int key) const {
    return feature(element(g.inputs.q, at(g.inputs.key_strides, t) + key));
  }
  __device__ __forceinline__ float key(long long t, int key) const {
    return feature(element(g.inputs.k, at(g.inputs.key_strides, t) + key));
  }
  __device__ __forceinline__ float bonus_of(int key) const {
    return element(g.inputs.u, head * keys + key);
  }
  __device__ __forceinline__ float value(long long t, int column) const {
    if (normalized && column == values) return 1.0f;
    return element(g.inputs.v, at(g.inputs.value_strides, t) + column);
  }
  /// The gradient of an output or, with a normalizer, of a numerator or of the denominator.
  __device__ __forceinline__ float output_gradient(long long t, int column) const {
    if constexpr (normalized) return g.d_outputs[row(t) * width + column];
    return element(g.d_o, at(g.value_strides, t) + column);
  }

  /// The log decay of a token and key. Only where there are gates per token or per key.
  __device__ __forceinline__ float gate(long long t, int key) const {
    const long long place = at(g.inputs.gate_strides, t) + (key_gates ? key : 0);
    return log_decay(device::to_float(static_cast<const gate_t*>(g.inputs.g)[place]));
  }
  __device__ __forceinline__ float decay(long long t, int key) const {
    if constexpr (trait::decay == no_decay) return 1.0f;
    if constexpr (trait::decay == head_decay) return constant;
    return device::single_decay(gate(t, key));
  }

  __device__ __forceinline__ void store_query(long long t, int key, float x) const {
    static_cast<io_t*>(g.dq)[at(g.key_strides, t) + key] = device::from_float<io_t>(x);
  }
  __device__ __forceinline__ void store_key(long long t, int key, float x) const {
    static_cast<io_t*>(g.dk)[at(g.key_strides, t) + key] = device::from_float<io_t>(x);
  }
  __device__ __forceinline__ void store_value(long long t, int column, float x) const {
    static_cast<io_t*>(g.dv)[at(g.value_strides, t) + column] = device::from_float<io_t>(x);
  }
  /// Stores the gradient of a log decay per key as that of the gate's element. The log decay of a
  /// raw gate w is -exp(w), and its derivative by w is the log decay itself. Where the decay is 0
  /// its gradient is 0, whatever the derivative.
  __device__ __forceinline__ void store_key_gate(long long t, int key, float x) const {
    if constexpr (trait::raw_gate != 0) {
      const float log_decay = gate(t, key);
      x = log_decay == device::minus_infinity() ? 0.0f : x * log_decay;
    }
    g.d_gate[at(g.inputs.gate_strides, t) + key] = x;
  }

  /// An element of the state before the first token, or of the gradient of that behind the last
  /// one.
  __device__ __forceinline__ float initial_state(int key, int column) const {
    return state(g.inputs.initial_state, g.inputs.initial_normalizer, key, column);
  }
  __device__ __forceinline__ float final_gradient(int key, int column) const {
    return state(g.d_final_state, g.d_final_normalizer, key, column);
  }
  /// Stores the gradient of an element of the initial state, where it is asked for.
  __device__ __forceinline__ void store_initial_gradient(int key, int column, float x) const {
    if (normalized && column == values) {
      if (g.d_initial_normalizer != nullptr) g.d_initial_normalizer[pair * keys + key] = x;
    } else if (g.d_initial_state != nullptr) {
      static_cast<state_t*>(g.d_initial_state)[pair * keys * values + state_offset(key, column)] =
          device::from_float<state_t>(x);
    }
  }

 private:
  __device__ __forceinline__ static float element(const void* tensor, long long place) {
    return device::to_float(static_cast<const io_t*>(tensor)[place]);
  }
  __device__ __forceinline__ float state(const void* states, const float* normalizers, int key,
                                         int column) const {
    if (normalized && column == values)
      return normalizers == nullptr ? 0.0f : normalizers[pair * keys + key];
    if (states == nullptr) return 0.0f;
    return device::to_float(
        static_cast<const state_t*>(states)[pair * keys * values + state_offset(key, column)]);
  }
};

/// Sums each of `count` values over the lanes of a warp, where `count` is a power of two up to 32.
/// Lane n returns the sum of value n % count. Values are halved at each exchange.
template <int count>
__device__ __forceinline__ float sum_over_lanes(float (&x)[count]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int half = count / 2; half > 0; half /= 2) {
    const bool upper = (lane & half) != 0;
#pragma unroll
    for (int n = 0; n < half; ++n) {
      const float sent = upper ? x[n] : x[n + half];
      x[n] = (upper ? x[n + half] : x[n]) + __shfl_xor_sync(0xffffffffu, sent, half);
    }
  }
#pragma unroll
  for (int other = count; other < 32; other *= 2) x[0] += __shfl_xor_sync(0xffffffffu, x[0], other);
  return x[0];
}

}  // namespace gla_bench::linear_recurrence::backward
