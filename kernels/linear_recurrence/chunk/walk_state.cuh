#pragma once
// Moves a chunk walk's state between memory and the warps' accumulators.

#include "linear_recurrence/chunk/ranges.cuh"
#include "linear_recurrence/chunk/walk_tiles.cuh"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence {

/// How states are stored: in the problem's format, or as float32 [K, V] in the workspace.
struct GivenStates {
  using type = state_t;
  static constexpr int key_stride = trait::value_first ? 1 : dim::value_dim;
  static constexpr int value_stride = trait::value_first ? dim::key_dim : 1;
};
struct WorkStates {
  using type = float;
  static constexpr int key_stride = dim::value_dim, value_stride = 1;
};

/// Whether a walk leaves states behind: none.
struct KeepsNone {
  static constexpr bool any = false;
  __device__ KeepsNone() {}
  __device__ KeepsNone(const LinearRecurrenceParams&, long long, int) {}
};

/// That before every `every`-th chunk as float32 [K, V], in the workspace's slots for them. A block
/// stores its columns of V.
template <int chunk, int every>
struct KeepsBefore {
  static constexpr bool any = true;
  using Stored = WorkStates;
  float* first;

  __device__ KeepsBefore(const LinearRecurrenceParams& p, long long sequence, int)
      : first(static_cast<float*>(p.work[0]) +
              ChunkSlots<chunk * every>{p}.first_slot(sequence) * dim::key_dim * dim::value_dim) {}

  /// Where the state before chunk c goes, or null.
  __device__ __forceinline__ void* before(int c) const {
    if (c % every != 0) return nullptr;
    return first + static_cast<long long>(c / every) * dim::key_dim * dim::value_dim;
  }
  __device__ __forceinline__ void* behind(int) const { return nullptr; }
  __device__ __forceinline__ float* normalizer(const void*) const { return nullptr; }
};

/// Those between that are outputs (states_every), `every` chunks apart, with their normalizers.
template <int chunk>
struct KeepsBetween {
  static constexpr bool any = true;
  using Stored = GivenStates;
  state_t* states;
  float* normalizers;  ///< null: of another block, or none
  StatePlaces places;
  int every;

  __device__ KeepsBetween(const LinearRecurrenceParams& p, long long sequence, int slice)
      : states(reinterpret_cast<state_t*>(p.states)),
        normalizers(slice == 0 ? p.normalizers : nullptr),
        places(p, sequence / p.heads, sequence % p.heads),
        every(static_cast<int>(p.states_every / chunk)) {}

  __device__ __forceinline__ void* before(int c) const {
    return c > 0 && c % every == 0 ? at(c / every - 1) : nullptr;
  }
  /// Where the state after the last of `chunks` chunks goes, or null.
  __device__ __forceinline__ void* behind(int chunks) const {
    if (chunks == 0) return nullptr;
    const int stored = (chunks - 1) / every;
    return places.has(stored) ? at(stored) : nullptr;
  }
  /// Where the normalizer of a state goes that goes there.
  __device__ __forceinline__ float* normalizer(const void* state) const {
    if (normalizers == nullptr) return nullptr;
    const long long number =
        (static_cast<const state_t*>(state) - states) / (dim::key_dim * dim::value_dim);
    return normalizers + number * dim::key_dim;
  }

 private:
  __device__ __forceinline__ void* at(int i) const {
    return states + places.state(i) * dim::key_dim * dim::value_dim;
  }
};

template <typename Tiles, typename Stored>
struct StatePhase {
  using State = typename Tiles::State;

  int first_v;  ///< of the block's slice

  __device__ __forceinline__ void load(const void* states, State& state) const {
    using T = typename Stored::type;
    const T* from = static_cast<const T*>(states);
    const bool given = from != nullptr;
    if (given) from += lane_offset();
    for_state(state, [from, given](float& x, bool exists, int at) {
      x = given && exists ? device::to_float(from[at]) : 0.0f;
    });
  }

  __device__ __forceinline__ void store(void* states, State& state) const {
    using T = typename Stored::type;
    T* to = static_cast<T*>(states) + lane_offset();
    for_state(state, [to](float& x, bool exists, int at) {
      if (exists) to[at] = device::from_float<T>(x);
    });
  }

 private:
  /// Calls f(accumulator, offset from this lane's first element of a state) for every element that
  /// exists. Offsets are constants, so that none of them occupies a register during the walk.
  template <typename F>
  __device__ __forceinline__ void for_state(State& state, F f) const {
    const int first_value = lane_v(), first_key = lane_k();
#pragma unroll
    for (int m = 0; m < Tiles::tiles_v; ++m)
#pragma unroll
      for (int n = 0; n < Tiles::tiles_k; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int v = 16 * m + i / 2 * 8, k = 8 * n + i % 2;
          const bool exists =
              (dim::value_dim % Tiles::block_v == 0 || first_value + v < dim::value_dim) &&
              (dim::key_dim == Tiles::keys || first_key + k < dim::key_dim);
          f(state[m][n][i], exists, k * Stored::key_stride + v * Stored::value_stride);
        }
  }
  __device__ __forceinline__ int lane_v() const {
    return first_v + Tiles::warp_first_v() + Tiles::lane_row();
  }
  __device__ __forceinline__ int lane_k() const {
    return Tiles::warp_first_k() + Tiles::lane_column();
  }
  __device__ __forceinline__ int lane_offset() const {
    return lane_k() * Stored::key_stride + lane_v() * Stored::value_stride;
  }
};

}  // namespace gla_bench::linear_recurrence
