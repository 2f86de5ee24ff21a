#pragma once
// recurrent: one pass over the tokens, with the state in float32 registers and no tensor cores.
//
// Idea: a block owns one sequence and block_v columns of its state. A group of `lanes` threads owns
// `columns` of them. Each thread owns a slice of the key dimensions. Groups of four keys ("quads")
// are dealt out in turn, so that the lanes of a warp read neighbouring 16-byte words. For each
// token and state element, S = S e^g + k v and o += q S (the other way round where the output comes
// before the update). Where decays are scalar, S += k v alone, because the decays are in q and k
// (TokenDecays). Sums over the lanes are taken for several tokens at once by halving exchanges,
// which leave each lane with one token's output.
//
// Tokens come in steps of `tokens`. The rows of a step arrive by asynchronous copies, `stages`
// steps ahead. They are turned into float32 once (q times scale, k, e^g, v) and computed with one
// step later. There is one barrier per step, and no step waits for device memory. A normalizer lies
// beside the state, with a thread per key, and divides the outputs as they are stored.
//
// Grid: sequences * value slices, with slices varying fastest.
//
// Shared memory: layout.h.
//
// Bytes: q, k, g once per slice (neighbouring blocks share them through the L2 cache); v, o and the
// states once, those between (states_every) too.

#include "device/store_rows.cuh"
#include "linear_recurrence/recurrent/state.cuh"

namespace gla_bench::linear_recurrence::recurrent {

__device__ inline Block block_of(const LinearRecurrenceParams& p, long long sequence,
                                 int first_column) {
  const long long n = sequence / p.heads, h = sequence % p.heads;
  const Span span = span_of(p, n);
  const auto at = [&](const TokenStrides& strides) {
    return (trait::ragged != 0 ? 0 : n * strides.batch) + h * strides.heads +
           span.first * strides.seq;
  };
  const long long key = at(p.key_strides), value = at(p.value_strides) + first_column;
  const long long output = trait::packed_inputs != 0 ? at(p.output_strides) + first_column : value;
  const bool gated = p.g != nullptr;
  return {static_cast<const io_t*>(p.q) + key,
          static_cast<const io_t*>(p.k) + key,
          static_cast<const io_t*>(p.v) + value,
          gated ? static_cast<const gate_t*>(p.g) + at(p.gate_strides) : nullptr,
          static_cast<io_t*>(p.o) + output,
          p.key_strides.seq,
          p.value_strides.seq,
          p.gate_strides.seq,
          output_strides(p).seq,
          span.tokens,
          min(block_v, value_dim - first_column),
          p.scale};
}

/// Stores the state, times `by`, and the normalizer as the states with this number.
__device__ inline void store_states(float* states, float* normalizers, long long number,
                                    int first_column, float by, State& state,
                                    Normalizer& normalizer) {
  if (auto* target = reinterpret_cast<state_t*>(states); target != nullptr)
    for_each_state(state, first_column, [&](float& s, long long at) {
      target[number * key_dim * value_dim + at] =
          device::from_float<state_t>(scalar_decay ? s * by : s);
    });
  if constexpr (normalized)
    if (normalizers != nullptr && first_column == 0)
      normalizer.for_each([&](float& z, int key) { normalizers[number * key_dim + key] = z; });
}

/// Stores the states between. A step ends after every one of them.
struct Between {
  const LinearRecurrenceParams& p;
  StatePlaces places;
  int first_column;
  long long stored = 0;

  __device__ Between(const LinearRecurrenceParams& p_, long long sequence, int column)
      : p(p_), places(p_, sequence / p_.heads, sequence % p_.heads), first_column(column) {}
  __device__ inline void store(float by, State& state, Normalizer& normalizer) {
    store_states(p.states, p.normalizers, places.state(stored++), first_column, by, state,
                 normalizer);
  }
  __device__ inline void after(long long tokens_so_far, float by, State& state,
                               Normalizer& normalizer) {
    if (tokens_so_far == (stored + 1) * p.states_every) store(by, state, normalizer);
  }
  /// The last state, where it has a place among those between and is not there yet.
  __device__ inline void finish(float by, State& state, Normalizer& normalizer) {
    if (places.has(stored)) store(by, state, normalizer);
  }
};
struct NoneBetween {
  __device__ NoneBetween(const LinearRecurrenceParams&, long long, int) {}
  __device__ inline void after(long long, float, State&, Normalizer&) {}
  __device__ inline void finish(float, State&, Normalizer&) {}
};
using StatesBetween = device::Choice<(trait::states != 0), Between, NoneBetween>::type;

/// Walks one sequence's slice. The caller has set the states that it starts from, and it stores the
/// states that it reaches. Returns the factor that the state still has to be multiplied by.
__device__ inline float walk(const Block& block, const LinearRecurrenceParams& p, long long h,
                             unsigned char* shared, State& state, Normalizer& normalizer,
                             StatesBetween& between) {
  const auto floats = [&](int offset) { return reinterpret_cast<float*>(shared + offset); };
  const auto raw = [&](long long n) { return Raw{shared + n % stages * layout.stage_bytes}; };
  const auto ready = [&](long long n) { return floats(layout.ready) + n % 2 * layout.float_words; };
  const auto output = [&](long long n) {
    return floats(layout.outputs) + n % 2 * layout.output_words;
  };
  const auto factors = [&](long long n) {
    return floats(layout.factors) + n % 3 * layout.factor_words;
  };
  float* u = floats(layout.bonuses);
  const auto own = [&](long long n) { return u + padded_key + n % 2 * tokens; };
  const auto sums = [&](long long n) { return floats(layout.sums) + n % 2 * layout.sum_words; };
  const long long steps = (block.seq + tokens - 1) / tokens;
  const auto rows = [&](long long n) {
    return static_cast<int>(min(static_cast<long long>(tokens), block.seq - n * tokens));
  };
  const auto store = [&](long long n) {
    device::store_rows<threads, block_v, value_dim>(
        block.o + n * tokens * block.output_stride, block.output_stride, output(n),
        layout.output_pitch, rows(n), block.width, OutputFactor{sums(n), p.epsilon});
  };
  const auto ready_step = [&](long long n) {
    prepare(block, raw(n), ready(n), factors(n), u, own(n), n * tokens);
  };

  for (int n = 0; n < stages; ++n) {
    if (n < steps) issue(block, raw(n), static_cast<long long>(n) * tokens);
    device::commit_copies();
  }
  TokenDecays decays{block.g, 0.0f};
  const bool first_warp = threadIdx.x < 32;
  if constexpr (scalar_decay) {
    if constexpr (trait::decay == head_decay) decays.constant = p.log_decay[h];
    if (first_warp)
      for (int n = 0; n < 3; ++n) {
        decays.load(block, static_cast<long long>(n) * tokens);
        if (n < 2) decays.form(factors(n));
      }
  }
  if constexpr (bonus)
    for (int key = static_cast<int>(threadIdx.x); key < padded_key; key += threads)
      u[key] =
          key < key_dim ? device::to_float(static_cast<const io_t*>(p.u)[h * key_dim + key]) : 0.0f;
  device::wait_copies<stages - 1>();
  __syncthreads();
  ready_step(0);

  for (long long n = 0; n < steps; ++n) {
    device::wait_copies<stages - 2>();
    __syncthreads();  // step n is ready, step n + 1 has arrived, the buffers of n - 1 are free
    if (n + stages < steps) issue(block, raw(n), (n + stages) * tokens);
    device::commit_copies();
    if constexpr (scalar_decay)
      if (first_warp) {
        decays.form(factors(n + 2));
        decays.load(block, (n + 3) * tokens);
      }
    if (n > 0) store(n - 1);
    compute(state, ready(n), factors(n) + 2 * tokens, own(n), output(n), rows(n));
    if constexpr (normalized) normalizer.add(ready(n), sums(n));
    between.after(n * tokens + rows(n), scalar_decay ? factors(n)[tokens - 1] : 1.0f, state,
                  normalizer);
    if (n + 1 < steps) ready_step(n + 1);
  }
  __syncthreads();
  store(steps - 1);
  return scalar_decay ? factors(steps - 1)[tokens - 1] : 1.0f;
}

__device__ inline void run(const LinearRecurrenceParams& p, unsigned char* shared) {
  const long long sequence = blockIdx.x / slices, matrix = sequence * key_dim * value_dim;
  const int slice_index = static_cast<int>(blockIdx.x % slices);
  const int first_column = slice_index * block_v;
  const Block block = block_of(p, sequence, first_column);
  State state{};
  Normalizer normalizer{};
  if (const auto* initial = reinterpret_cast<const state_t*>(p.initial_state); initial != nullptr)
    for_each_state(state, first_column,
                   [&](float& s, long long at) { s = device::to_float(initial[matrix + at]); });
  if constexpr (normalized)
    if (p.initial_normalizer != nullptr)
      normalizer.for_each(
          [&](float& z, int key) { z = p.initial_normalizer[sequence * key_dim + key]; });
  StatesBetween between(p, sequence, first_column);
  if (block.seq > 0) {
    const float by = walk(block, p, sequence % p.heads, shared, state, normalizer, between);
    between.finish(by, state, normalizer);
    if constexpr (scalar_decay) scale_state(state, by);
  }
  if (auto* target = reinterpret_cast<state_t*>(p.final_state); target != nullptr)
    for_each_state(state, first_column, [&](float& s, long long at) {
      target[matrix + at] = device::from_float<state_t>(s);
    });
  if constexpr (normalized)
    if (p.final_normalizer != nullptr && slice_index == 0) {
      // Other slices may not have read their initial normalizer yet, so the final one then goes
      // beside it.
      float* target = p.work[0] != nullptr ? static_cast<float*>(p.work[0]) : p.final_normalizer;
      normalizer.for_each([&](float& z, int key) { target[sequence * key_dim + key] = z; });
    }
}

}  // namespace gla_bench::linear_recurrence::recurrent

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::recurrent::threads,
                                             gla_bench::linear_recurrence::recurrent::resident)
    gla_recurrent(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  extern __shared__ __align__(16) unsigned char shared[];
  gla_bench::linear_recurrence::recurrent::run(p, shared);
}

/// Puts the final normalizers in place of the initial ones, which all slices have read by now.
extern "C" __global__ void __launch_bounds__(256)
    gla_recurrent_normalizers(const __grid_constant__ gla_bench::LinearRecurrenceParams p) {
  const long long at = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (at < p.sequences * p.heads * dim::key_dim)
    p.final_normalizer[at] = static_cast<const float*>(p.work[0])[at];
}
