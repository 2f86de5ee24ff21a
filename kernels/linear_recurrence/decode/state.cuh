#pragma once
// The state of decode.cuh in registers. All of a thread's vectors are loaded at once, advanced
// token by token and stored. The sums over the keys make the outputs.

#include "linear_recurrence/decode/rows.cuh"

namespace gla_bench::linear_recurrence::decode {

using Vector = device::Pack<state_t, vec>;

/// Loads one vector past the caches, because the state is used once.
__device__ inline Vector load_streaming(const Vector* from) {
  Vector v;
  if constexpr (sizeof(Vector) == 16)
    reinterpret_cast<uint4&>(v) = __ldcs(reinterpret_cast<const uint4*>(from));
  else if constexpr (sizeof(Vector) == 8)
    reinterpret_cast<uint2&>(v) = __ldcs(reinterpret_cast<const uint2*>(from));
  else if constexpr (sizeof(Vector) == 4)
    reinterpret_cast<unsigned&>(v) = __ldcs(reinterpret_cast<const unsigned*>(from));
  else
    v = *from;
  return v;
}

/// Stores one vector to lines that the L2 cache gives up last. The next step reads them. What is
/// still in the cache at the end was not written to device memory while this step read from it.
__device__ inline void store_to_stay(Vector* to, const Vector& v) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  if constexpr (sizeof(Vector) == 16) {
    const uint4& words = reinterpret_cast<const uint4&>(v);
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(to),
                 "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w), "l"(policy)
                 : "memory");
  } else if constexpr (sizeof(Vector) == 8) {
    const uint2& words = reinterpret_cast<const uint2&>(v);
    asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" ::"l"(to), "r"(words.x),
                 "r"(words.y), "l"(policy)
                 : "memory");
  } else if constexpr (sizeof(Vector) == 4) {
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(to),
                 "r"(reinterpret_cast<const unsigned&>(v)), "l"(policy)
                 : "memory");
  } else {
    *to = v;
  }
}

/// Calls act(row j, column c, offset in the state) for the vectors that this thread owns and that
/// exist in the problem. Offsets are one address plus constants.
template <class Act>
__device__ inline void for_each_vector(const Block& block, Act act) {
  const int lane = static_cast<int>(threadIdx.x % lanes);
  const int group = static_cast<int>(threadIdx.x / lanes);
  constexpr int pitch = value_first ? key_dim : value_dim;
  const long long start = value_first ? state_offset(lane * vec, block.first_column + group)
                                      : state_offset(group, block.first_column + lane * vec);
#pragma unroll
  for (int j = 0; j < rows; ++j)
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const int row = j * groups + group, word = (c * lanes + lane) * vec;
      const long long at = start + j * groups * pitch + c * lanes * vec;
      if constexpr (value_first) {
        if (row < block.width && (columns * lanes * vec <= key_dim || word < key_dim))
          act(j, c, at);
      } else {
        if ((rows * groups <= key_dim || row < key_dim) &&
            (value_dim % block_v == 0 || word < block.width))
          act(j, c, at);
      }
    }
}

struct RawState {
  Vector at[rows][columns];
};
struct State {
  float at[rows][columns][vec];
};

__device__ inline void load_state(const Block& block, RawState& raw) {
  const state_t* from = reinterpret_cast<const state_t*>(block.p.initial_state);
  const state_t zero = device::from_float<state_t>(0.0f);
#pragma unroll
  for (int j = 0; j < rows; ++j)
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
      for (int x = 0; x < vec; ++x) raw.at[j][c].value[x] = zero;
  if (from == nullptr) return;
  from += static_cast<long long>(block.pair) * (key_dim * value_dim);
  for_each_vector(block, [&](int j, int c, long long at) {
    raw.at[j][c] = load_streaming(reinterpret_cast<const Vector*>(from + at));
  });
}

__device__ inline void widen(const RawState& raw, State& state) {
#pragma unroll
  for (int j = 0; j < rows; ++j)
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
      for (int x = 0; x < vec; ++x) state.at[j][c][x] = device::to_float(raw.at[j][c].value[x]);
}

__device__ inline void store_state(const Block& block, const State& state) {
  state_t* to = reinterpret_cast<state_t*>(block.p.final_state);
  if (to == nullptr) return;
  to += static_cast<long long>(block.pair) * (key_dim * value_dim);
  for_each_vector(block, [&](int j, int c, long long at) {
    Vector v;
#pragma unroll
    for (int x = 0; x < vec; ++x) v.value[x] = device::from_float<state_t>(state.at[j][c][x]);
    store_to_stay(reinterpret_cast<Vector*>(to + at), v);
  });
}

/// Updates the state for one element and token, and adds to the output.
__device__ __forceinline__ void update(float& s, float& sum, float q, float k, float decay,
                                       float bonus, float v) {
  if constexpr (trait::before_update != 0) sum = fmaf(q, s, fmaf(bonus, v, sum));
  if constexpr (trait::decay != no_decay)
    s = fmaf(s, decay, k * v);
  else
    s = fmaf(k, v, s);
  if constexpr (trait::before_update == 0) sum = fmaf(q, s, sum);
}

/// Loads `n` neighbouring floats from shared memory.
template <int n>
__device__ __forceinline__ device::Pack<float, n> read(const float* from) {
  return *reinterpret_cast<const device::Pack<float, n>*>(from);
}

/// Takes one token through this thread's part of the state.
__device__ inline void advance(State& state, const float* token, const float* values,
                               float (&sum)[sums]) {
  const int lane = static_cast<int>(threadIdx.x % lanes);
  const int group = static_cast<int>(threadIdx.x / lanes);
#pragma unroll
  for (int i = 0; i < sums; ++i) sum[i] = 0.0f;
  if constexpr (value_first) {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const float* at = token + (c * lanes + lane) * vec;
      const auto q = read<vec>(at), k = read<vec>(at + padded_keys);
      const auto decay = read<vec>(at + 2 * padded_keys), bonus = read<vec>(at + 3 * padded_keys);
#pragma unroll
      for (int j = 0; j < rows; ++j) {
        const float v = values[j * groups + group];
#pragma unroll
        for (int x = 0; x < vec; ++x)
          update(state.at[j][c][x], sum[j], q.value[x], k.value[x], decay.value[x], bonus.value[x],
                 v);
      }
    }
  } else {
    const auto v = read<vec>(values + lane * vec);
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      const auto key = read<4>(token + 4 * (j * groups + group));
#pragma unroll
      for (int x = 0; x < vec; ++x)
        update(state.at[j][0][x], sum[x], key.value[0], key.value[1], key.value[2], key.value[3],
               v.value[x]);
    }
  }
}

/// Exchanges sums with the threads `distance`, 2 distance, .. below `end` away in the warp. Each
/// thread keeps half of its sums, added up, as long as it has more than one. first: index of the
/// sums that are kept. mine: a single sum is kept by only one of the threads that have it.
template <int kept, int distance, int end>
__device__ __forceinline__ void exchange(float (&sum)[sums], int& first, bool& mine) {
  if constexpr (distance < end) {
    constexpr int half = kept / 2;
    const bool upper = (threadIdx.x & distance) != 0;
    if constexpr (half == 0) {
      sum[0] += __shfl_xor_sync(0xffffffffu, sum[0], distance);
      mine = mine && !upper;
    }
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float send = upper ? sum[i] : sum[i + half];
      const float keep = upper ? sum[i + half] : sum[i];
      sum[i] = keep + __shfl_xor_sync(0xffffffffu, send, distance);
    }
    if (upper) first += half;
    exchange<(half > 0 ? half : 1), 2 * distance, end>(sum, first, mine);
  }
}

/// Adds this thread's sums to those of the threads of its warp that have parts of the same outputs,
/// and writes the sums that it is left with.
__device__ inline void reduce(float (&sum)[sums], float* partial) {
  constexpr int nearest = value_first ? 1 : lanes, end = value_first ? lanes : 32;
  constexpr int ways = nearest < end ? end / nearest : 1;
  constexpr int left = sums > ways ? sums / ways : 1;
  const int lane = static_cast<int>(threadIdx.x % lanes);
  const int group = static_cast<int>(threadIdx.x / lanes);
  int first = 0;
  bool mine = true;
  exchange<sums, nearest, end>(sum, first, mine);
  if (!mine) return;
#pragma unroll
  for (int i = 0; i < left; ++i)
    partial[value_first ? (first + i) * groups + group : lane * vec + first + i] = sum[i];
}

}  // namespace gla_bench::linear_recurrence::decode
