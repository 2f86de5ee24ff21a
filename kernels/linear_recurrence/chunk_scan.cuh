#pragma once
// An exclusive scan over the chunks of a sequence, in parallel along the chunks.
//
// Elements are maps (D, L): S -> D S + L, elementwise in the state [K, V], with D shared by a row
// of V. A block owns 32 * width neighbouring elements of one sequence's state, a lane `width` of
// them. Along the chunks a warp owns `items` in a row, in registers; the warps' products are
// scanned in shared memory (Kogge-Stone), and when a sequence has more than warps * items chunks
// the state is carried on.
//
// Grid: sequences * ceil(K V / (32 width)). Shared memory: 2 * warps * 32 (1 + width) floats,
// static. Bytes: the chunks' states read and written once.

#include "device/types.cuh"
#include "linear_recurrence/params.h"

namespace gla_bench::linear_recurrence {

/// Elements of the state that a lane owns: neighbours in one row of V.
inline constexpr int scan_width = dim::value_dim % 4 == 0 ? 4 : 1;

struct ScanMap {
  float decay;
  device::Pack<float, scan_width> add;

  static __device__ __forceinline__ ScanMap identity() { return {1.0f, {}}; }
  /// This map after `first`.
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

/// Inclusive scan of one map per warp over the block's warps, lane by lane. Every warp gets the
/// maps of the warps before it, composed, and the map of all.
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

template <int warps, int items>
__device__ __forceinline__ void scan_chunks(const LinearRecurrenceParams& p, long long chunks) {
  using State = device::Pack<float, scan_width>;
  constexpr int state_size = dim::key_dim * dim::value_dim;
  constexpr int pieces = (state_size + 32 * scan_width - 1) / (32 * scan_width);
  const long long sequence = blockIdx.x / pieces;
  const int element = (static_cast<int>(blockIdx.x % pieces) * 32 + threadIdx.x % 32) * scan_width;
  const bool mine = element < state_size;
  const int key = element / dim::value_dim;
  float* states = static_cast<float*>(p.work[0]) + sequence * chunks * state_size + element;
  const float* decays =
      static_cast<const float*>(p.work[1]) + sequence * chunks * dim::key_dim + key;

  State state = {};
  if (mine && p.initial_state != nullptr)
    state = *reinterpret_cast<const State*>(p.initial_state + sequence * state_size + element);
  for (long long first = 0; first < chunks; first += warps * items) {
    const long long begin = first + threadIdx.x / 32 * items;
    ScanMap map[items];
#pragma unroll
    for (int i = 0; i < items; ++i) {
      map[i] = ScanMap::identity();
      if (mine && begin + i < chunks) {
        map[i].decay = decays[(begin + i) * dim::key_dim];
        map[i].add = *reinterpret_cast<const State*>(states + (begin + i) * state_size);
      }
    }
    ScanMap own = map[0], before, all;
#pragma unroll
    for (int i = 1; i < items; ++i) own = map[i].after(own);
    scan_warps<warps>(own, before, all);
    State start = before.apply(state);
#pragma unroll
    for (int i = 0; i < items; ++i) {
      if (mine && begin + i < chunks)
        *reinterpret_cast<State*>(states + (begin + i) * state_size) = start;
      start = map[i].apply(start);
    }
    state = all.apply(state);
  }
  if (mine && threadIdx.x < 32 && p.final_state != nullptr)
    *reinterpret_cast<State*>(p.final_state + sequence * state_size + element) = state;
}

}  // namespace gla_bench::linear_recurrence
