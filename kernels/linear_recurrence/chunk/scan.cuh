#pragma once
// An exclusive scan over the chunks of a sequence, in parallel along the chunks.
//
// Idea: the elements of the scan are maps (D, L): S -> D S + L, elementwise in the state [K, V]. D
// is shared by a row of V, or by the whole state, or is 1. A normalizer z [K] is scanned like a
// state of one column. A block owns 32 * width neighbouring elements of one sequence's state, and
// each lane owns `width` of them. Along the chunks, a warp owns `items` consecutive chunks, in
// registers. The products of the warps are then scanned in shared memory (Kogge-Stone). When a
// sequence has more than warps * items chunks, the block repeats this and carries the state on.
//
// Grid: sequences * (ceil(K V / (32 width)) + ceil(K / 32) where there is a normalizer).
//
// Shared memory: 2 * warps * 32 (1 + width) floats, static.
//
// Bytes: the chunks' states are read and written once. Those that are outputs (states_every) are
// written once more.

#include "device/types.cuh"
#include "linear_recurrence/chunk/ranges.cuh"
#include "linear_recurrence/params.h"

namespace gla_bench::linear_recurrence {

/// Elements of the state that a lane owns: neighbours in one row of V.
inline constexpr int scan_width = dim::value_dim % 4 == 0 ? 4 : 1;

/// Decays of a chunk in the workspace: one per key, or a single one.
inline constexpr int decay_width = trait::decay == 3 ? dim::key_dim : 1;

// The workspace's regions. The host lists those that exist in this order.
__device__ __forceinline__ float* work_states(const LinearRecurrenceParams& p) {
  return static_cast<float*>(p.work[0]);
}
__device__ __forceinline__ float* work_decays(const LinearRecurrenceParams& p) {
  return static_cast<float*>(p.work[1]);
}
__device__ __forceinline__ float* work_normalizers(const LinearRecurrenceParams& p) {
  return static_cast<float*>(p.work[trait::decay == 0 ? 1 : 2]);
}

struct ScanMap {
  float decay;
  device::Pack<float, scan_width> add;

  static __device__ __forceinline__ ScanMap identity() { return {1.0f, {}}; }
  /// The map that applies `first` and then this one.
  __device__ __forceinline__ ScanMap after(const ScanMap& first) const {
    ScanMap both;
    both.decay = decay * first.decay;
    both.add = apply(first.add);
    return both;
  }
  __device__ __forceinline__ device::Pack<float, scan_width> apply(
      const device::Pack<float, scan_width>& state) const {
    device::Pack<float, scan_width> next;
#pragma unroll
    for (int i = 0; i < scan_width; ++i) next.value[i] = decay * state.value[i] + add.value[i];
    return next;
  }
};

/// Inclusive scan of one map per warp over the block's warps, lane by lane. Every warp gets
/// `before`, the composed maps of the warps before it, and `all`, the map of all warps.
template <int warps>
__device__ __forceinline__ void scan_warps(const ScanMap& own, ScanMap& before, ScanMap& all) {
  __shared__ ScanMap maps[2][warps][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  ScanMap sum = own;
  int from = 0;
  maps[0][warp][lane] = sum;
  __syncthreads();
#pragma unroll
  for (int distance = 1; distance < warps; distance *= 2) {
    if (warp >= distance) sum = sum.after(maps[from][warp - distance][lane]);
    from ^= 1;
    maps[from][warp][lane] = sum;
    __syncthreads();
  }
  before = warp > 0 ? maps[from][warp - 1][lane] : ScanMap::identity();
  all = maps[from][warps - 1][lane];
  __syncthreads();
}

/// What one lane scans: `width` elements of each chunk's map. The elements of consecutive chunks
/// are `stride` apart.
struct ScanLane {
  float* elements;
  long long stride;
  int width;            ///< scan_width, or 1
  const float* decays;  ///< of the chunks, decay_width apart; null: 1
  bool mine;            ///< false if the lane has no such elements
};

/// `before(i, start)` is called for each chunk of the lane's own with what the chunk starts from,
/// and at the end, by the first warp alone, for the chunk behind the last.
template <int warps, int items, typename State, typename Before>
__device__ __forceinline__ void scan_lane(const ScanLane& lane, long long chunks, State& state,
                                          Before before_chunk) {
  const auto load = [&](const float* from) {
    State x = {};
    if (lane.width == scan_width)
      x = *reinterpret_cast<const State*>(from);
    else
      x.value[0] = from[0];
    return x;
  };
  for (long long first = 0; first < chunks; first += warps * items) {
    const long long begin = first + threadIdx.x / 32 * items;
    ScanMap map[items];
#pragma unroll
    for (int i = 0; i < items; ++i) {
      map[i] = ScanMap::identity();
      if (lane.mine && begin + i < chunks) {
        if (lane.decays != nullptr) map[i].decay = lane.decays[(begin + i) * decay_width];
        map[i].add = load(lane.elements + (begin + i) * lane.stride);
      }
    }
    ScanMap own = map[0], before, all;
#pragma unroll
    for (int i = 1; i < items; ++i) own = map[i].after(own);
    scan_warps<warps>(own, before, all);
    State start = before.apply(state);
#pragma unroll
    for (int i = 0; i < items; ++i) {
      if (lane.mine && begin + i < chunks) {
        float* to = lane.elements + (begin + i) * lane.stride;
        if (lane.width == scan_width)
          *reinterpret_cast<State*>(to) = start;
        else
          to[0] = start.value[0];
        before_chunk(begin + i, start);
      }
      start = map[i].apply(start);
    }
    state = all.apply(state);
  }
  if (lane.mine && threadIdx.x < 32) before_chunk(chunks, state);
}

/// The states between that are outputs (states_every), `apart` chunks from one another.
template <int chunk>
struct ScannedBetween {
  StatePlaces places;
  int apart;

  __device__ ScannedBetween(const LinearRecurrenceParams& p, long long sequence)
      : places(p, sequence / p.heads, sequence % p.heads),
        apart(static_cast<int>(p.states_every / chunk)) {}

  /// Which of all states that before chunk `c` of `chunks` is, or -1. Behind the last chunk, a
  /// ragged sequence's last state may be one of them, wherever it ends.
  __device__ __forceinline__ long long number(long long c, long long chunks) const {
    if (c == 0 || (c < chunks && c % apart != 0)) return -1;
    const long long i = (c - 1) / apart;
    return places.has(i) ? places.state(i) : -1;
  }
};

/// Scans the states. A lane's elements are neighbours in a row of V.
template <int chunk, int warps, int items>
__device__ __forceinline__ void scan_states(const LinearRecurrenceParams& p, long long sequence,
                                            long long slot, long long chunks, int element) {
  constexpr int state_size = dim::key_dim * dim::value_dim;
  const int key = element / dim::value_dim, value = element % dim::value_dim;
  ScanLane lane = {work_states(p) + slot * state_size + element, state_size, scan_width, nullptr,
                   element < state_size};
  if constexpr (trait::decay != 0)
    lane.decays = work_decays(p) + slot * decay_width + (decay_width > 1 ? key : 0);
  // Strides and offset in the problem's states, in their layout.
  constexpr int apart = trait::value_first ? dim::key_dim : 1;
  const int at = trait::value_first ? value * dim::key_dim + key : element;
  device::Pack<float, scan_width> state = {};
  if (const state_t* from = given_state(p.initial_state, sequence); lane.mine && from != nullptr)
#pragma unroll
    for (int i = 0; i < scan_width; ++i) state.value[i] = device::to_float(from[at + i * apart]);
  using State = device::Pack<float, scan_width>;
  const auto store = [&](state_t* to, const State& from) {
#pragma unroll
    for (int i = 0; i < scan_width; ++i)
      to[at + i * apart] = device::from_float<state_t>(from.value[i]);
  };
  if constexpr (trait::states != 0) {
    const ScannedBetween<chunk> between(p, sequence);
    scan_lane<warps, items>(lane, chunks, state, [&](long long c, const State& from) {
      const long long number = between.number(c, chunks);
      if (number >= 0) store(given_state(p.states, number), from);
    });
  } else {
    scan_lane<warps, items>(lane, chunks, state, [](long long, const State&) {});
  }
  if (state_t* to = given_state(p.final_state, sequence);
      lane.mine && threadIdx.x < 32 && to != nullptr)
    store(to, state);
}

/// Scans the normalizers. A lane has one key.
template <int chunk, int warps, int items>
__device__ __forceinline__ void scan_normalizers(const LinearRecurrenceParams& p,
                                                 long long sequence, long long slot,
                                                 long long chunks, int key) {
  const ScanLane lane = {work_normalizers(p) + slot * dim::key_dim + key, dim::key_dim, 1, nullptr,
                         key < dim::key_dim};
  device::Pack<float, scan_width> z = {};
  const float* from = normalizer(p.initial_normalizer, sequence);
  if (lane.mine && from != nullptr) z.value[0] = from[key];
  using Sum = device::Pack<float, scan_width>;
  if constexpr (trait::states != 0) {
    const ScannedBetween<chunk> between(p, sequence);
    scan_lane<warps, items>(lane, chunks, z, [&](long long c, const Sum& sum) {
      const long long number = between.number(c, chunks);
      if (number >= 0) normalizer(p.normalizers, number)[key] = sum.value[0];
    });
  } else {
    scan_lane<warps, items>(lane, chunks, z, [](long long, const Sum&) {});
  }
  float* to = normalizer(p.final_normalizer, sequence);
  if (lane.mine && threadIdx.x < 32 && to != nullptr) to[key] = z.value[0];
}

/// Runs one block of the scan over chunks of `chunk` tokens.
template <int chunk, int warps, int items>
__device__ __forceinline__ void scan_chunks(const LinearRecurrenceParams& p) {
  constexpr int of_state =
      (dim::key_dim * dim::value_dim + 32 * scan_width - 1) / (32 * scan_width);
  constexpr int pieces = of_state + (trait::normalize ? (dim::key_dim + 31) / 32 : 0);
  const ChunkSlots<chunk> slots{p};
  const long long sequence = blockIdx.x / pieces;
  const int piece = static_cast<int>(blockIdx.x % pieces), lane = threadIdx.x % 32;
  const long long slot = slots.first_slot(sequence), chunks = slots.count(sequence);
  if (piece < of_state)
    scan_states<chunk, warps, items>(p, sequence, slot, chunks, (piece * 32 + lane) * scan_width);
  else if constexpr (trait::normalize != 0)
    scan_normalizers<chunk, warps, items>(p, sequence, slot, chunks, (piece - of_state) * 32 + lane);
}

}  // namespace gla_bench::linear_recurrence
