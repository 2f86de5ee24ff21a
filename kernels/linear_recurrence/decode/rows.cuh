#pragma once
// What decode.cuh stages in shared memory as float32, computed once per block: every token's v, and
// q, k, decay and bonus of each key.

#include "device/math.cuh"
#include "device/types.cuh"
#include "linear_recurrence/decode/layout.h"
#include "linear_recurrence/params.h"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence::decode {

constexpr DecodeLayout layout{dim::key_dim,       dim::value_dim,
                              trait::state_bytes, trait::value_first != 0,
                              tile::block_v,      tile::elements};
constexpr int key_dim = dim::key_dim, value_dim = dim::value_dim, block_v = tile::block_v;
constexpr int threads = layout.threads, lanes = layout.lanes, groups = layout.groups;
constexpr int vec = layout.vec, columns = layout.columns, rows = layout.rows;
constexpr int padded_keys = layout.padded_keys, padded_values = layout.padded_values;
constexpr bool value_first = trait::value_first != 0, normalize = trait::normalize != 0;
constexpr int slices = (value_dim + block_v - 1) / block_v;
constexpr int sums = value_first ? rows : vec;  // outputs that a thread has a part of
// Tokens that are staged together: all tokens, unless sequences are ragged.
constexpr int pitch = decode_form::tokens;
constexpr int staged_keys = pitch * padded_keys, staged_values = pitch * padded_values;
// Blocks per multiprocessor for which the state's size leaves registers.
constexpr int fitting = 65536 / (threads * (tile::elements + sums + 52));
constexpr int resident = fitting < 1 ? 1 : fitting > 16 ? 16 : fitting;

/// Shared memory.
struct Shared {
  // [pitch][4 padded_keys]: q, k, decay and bonus of each key; value first, one part after the
  // other
  float* keys;
  float* values;        // [pitch][padded_values]
  float* partial;       // [slots][pitch][padded_values]
  float* denominators;  // [warps][pitch]
  float* normalizer;    // [padded_keys]

  __device__ explicit Shared(unsigned char* memory)
      : keys(reinterpret_cast<float*>(memory)),
        values(keys + 4 * staged_keys),
        partial(values + staged_values),
        denominators(partial + layout.slots * staged_values),
        normalizer(denominators + threads / 32 * pitch) {}
};

/// One sequence and head, and a slice of its columns. A token's offset is computed only where it is
/// needed, because its strides are parameters and the first loads of the state need none of them.
struct Block {
  const LinearRecurrenceParams& p;
  unsigned batch, head, pair;
  Span span;
  int first_column, width;

  /// Offset of token t of the sequence.
  __device__ __forceinline__ long long at(const TokenStrides& strides, long long t) const {
    return batch * strides.batch + (span.first + t) * strides.seq + head * strides.heads;
  }
};

/// What one key of one token is computed from. Zeros where there is no such key.
struct KeyInputs {
  io_t q, k, bonus;
  gate_t gate;
  float head_decay;
};

/// Index of element i in staged rows of `padded` elements.
template <int padded>
struct Item {
  int token, column;
  __device__ __forceinline__ explicit Item(int i)
      : token(pitch > 1 ? static_cast<unsigned>(i) / padded : 0), column(i - token * padded) {}
};

__device__ inline KeyInputs fetch_key(const Block& block, long long first, int i, int count) {
  const auto [t, key] = Item<padded_keys>(i);
  const io_t zero = device::from_float<io_t>(0.0f);
  KeyInputs in{zero, zero, zero, device::from_float<gate_t>(0.0f), 0.0f};
  if (i >= count || key >= key_dim) return in;
  const LinearRecurrenceParams& p = block.p;
  const long long at = block.at(p.key_strides, first + t) + key;
  in.q = static_cast<const io_t*>(p.q)[at];
  in.k = static_cast<const io_t*>(p.k)[at];
  const long long gate = block.at(p.gate_strides, first + t);
  if constexpr (trait::decay == key_decay) in.gate = static_cast<const gate_t*>(p.g)[gate + key];
  if constexpr (trait::decay == token_decay) in.gate = static_cast<const gate_t*>(p.g)[gate];
  if constexpr (trait::decay == head_decay) in.head_decay = p.log_decay[block.head];
  if constexpr (trait::before_update != 0)
    in.bonus = static_cast<const io_t*>(p.u)[block.head * key_dim + key];
  return in;
}

__device__ inline io_t fetch_value(const Block& block, long long first, int i, int count) {
  const auto [t, column] = Item<padded_values>(i);
  if (i >= count || column >= block.width) return device::from_float<io_t>(0.0f);
  const LinearRecurrenceParams& p = block.p;
  return static_cast<const io_t*>(
      p.v)[block.at(p.value_strides, first + t) + block.first_column + column];
}

/// Stages key i of the tokens as the recurrence takes it: q scaled, and with the bonus also q u k.
__device__ inline void stage_key(const Block& block, const Shared& shared, int i,
                                 const KeyInputs& in) {
  const auto [t, key] = Item<padded_keys>(i);
  float q = 0.0f, k = 0.0f, decay = 1.0f, bonus = 0.0f;
  if (key < key_dim) {
    q = feature(device::to_float(in.q)) * block.p.scale;
    k = feature(device::to_float(in.k));
    if constexpr (trait::decay == head_decay)
      decay = device::single_decay(in.head_decay);
    else if constexpr (trait::decay != no_decay)
      decay = device::single_decay(log_decay(device::to_float(in.gate)));
    bonus = q * device::to_float(in.bonus) * k;
  }
  float* token = shared.keys + t * 4 * padded_keys;
  if constexpr (value_first) {
    token[key] = q;
    token[padded_keys + key] = k;
    token[2 * padded_keys + key] = decay;
    token[3 * padded_keys + key] = bonus;
  } else {
    *reinterpret_cast<float4*>(token + 4 * key) = make_float4(q, k, decay, bonus);
  }
}

/// What was fetched ahead of everything else, for the first turn.
struct Ahead {
  KeyInputs key;
  io_t value;
};

/// Fetches ahead. The first warps take the keys, the last ones take the values.
__device__ inline Ahead fetch(const Block& block, long long first, int tokens) {
  const int thread = static_cast<int>(threadIdx.x);
  return {fetch_key(block, first, thread, tokens * padded_keys),
          fetch_value(block, first, threads - 1 - thread, tokens * padded_values)};
}

/// Stages the tokens. What was not fetched ahead is fetched afterwards; for a token or two there is
/// nothing left.
__device__ inline void stage(const Block& block, const Shared& shared, long long first, int tokens,
                             Ahead ahead) {
  constexpr int key_turns = (staged_keys + threads - 1) / threads;
  constexpr int value_turns = (staged_values + threads - 1) / threads;
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 1
  for (int turn = 0; turn < value_turns; ++turn) {
    const int i = turn * threads + threads - 1 - thread, count = tokens * padded_values;
    if (i < count) shared.values[i] = device::to_float(ahead.value);
    if (turn + 1 < value_turns) ahead.value = fetch_value(block, first, i + threads, count);
  }
#pragma unroll 1
  for (int turn = 0; turn < key_turns; ++turn) {
    const int i = turn * threads + thread, count = tokens * padded_keys;
    if (i < count) stage_key(block, shared, i, ahead.key);
    if (turn + 1 < key_turns) ahead.key = fetch_key(block, first, i + threads, count);
  }
}

}  // namespace gla_bench::linear_recurrence::decode
