#pragma once
// How the segments of a sequence, which form a cluster of blocks, pass their states on in
// chunk_sm90.
//
// A block writes the state at the end of its segment into the next block's shared memory, where an
// mbarrier counts the bytes. Each thread sends its elements in the order in which its registers
// hold them, so a thread receives exactly its own elements. The first block has the state once it
// has walked its segment. A block between the first and the last already knows what its segment
// does to any state, S <- diag(D) S + L. It passes the result on before it walks.

#include "linear_recurrence/sm90/tile.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class Passing {
 public:
  __device__ __forceinline__ explicit Passing(const Block& block)
      : block_(block), at_(block.shared + layout.passed + 16 * (threadIdx.x % 128)) {
    if (block.is_last()) return;
    to_ = address_in(block.segment + 1, at_);
    there_ = address_in(block.segment + 1, block.state_there());
  }

  /// Prepares, before the other blocks begin, the mbarrier that this block waits on.
  static __device__ __forceinline__ void announce(const Block& block) {
    barrier_init(block.state_there(), 1);
    if (block.segment > 0) barrier_expect(block.state_there(), layout.values * tile_bytes);
  }

  /// Loads what the segment decays by, for this thread's keys.
  __device__ __forceinline__ void load_decays() {
    if constexpr (decays) add_decays();
  }
  __device__ __forceinline__ void wait() const { barrier_wait_cluster(block_.state_there(), 0); }

  /// Takes the state of one of the block's tiles that has arrived; on return `state` holds it. If
  /// `pass_on`, first sends what the segment makes of it to the next block. For that, `state` must
  /// hold on entry what the segment reaches from zero.
  __device__ __forceinline__ void take(TileState& state, int number, bool pass_on) const {
#pragma unroll
    for (int first = 0; first < TileState::elements / 4; first += 8) {
      float4 came[8];
#pragma unroll
      for (int n = 0; n < 8; ++n)
        came[n] = load_four(at_ + number * tile_bytes + (first + n) * 2048);
      if (pass_on) {
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const int i = first + n;
          const float4& s = came[n];
          const float2 f = decays ? decays_[key_gates ? i : 0] : float2{1.0f, 1.0f};
          send(number, i, fmaf(f.x, s.x, state.at(4 * i)), fmaf(f.y, s.y, state.at(4 * i + 1)),
               fmaf(f.x, s.z, state.at(4 * i + 2)), fmaf(f.y, s.w, state.at(4 * i + 3)));
        }
      }
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const int i = first + n;
        state.at(4 * i) = came[n].x, state.at(4 * i + 1) = came[n].y;
        state.at(4 * i + 2) = came[n].z, state.at(4 * i + 3) = came[n].w;
      }
    }
  }
  __device__ __forceinline__ void pass(TileState& state, int number) const {
#pragma unroll
    for (int i = 0; i < TileState::elements / 4; ++i)
      send(number, i, state.at(4 * i), state.at(4 * i + 1), state.at(4 * i + 2),
           state.at(4 * i + 3));
  }

 private:
  static constexpr bool decays = trait::decay != no_decay;
  static constexpr int numbers = key_gates ? TileState::elements / 4 : 1;
  static constexpr int tile_bytes = TileState::elements * 128 * 4;
  static_assert(!joined || layout.passed + layout.values * tile_bytes == layout.outputs);

  __device__ __forceinline__ void add_decays() {
#pragma unroll
    for (float2& two : decays_) two = {0.0f, 0.0f};
    for (int c = 0; c < block_.chunks; ++c)
#pragma unroll
      for (int n = 0; n < numbers; ++n) {
        if constexpr (key_gates) {
          const float2 two = load_floats(block_.decays(c) + 4 * TileState::key_of(n));
          decays_[n].x += two.x, decays_[n].y += two.y;
        } else {
          decays_[n].x += load_float(block_.decays(c));
        }
      }
#pragma unroll
    for (float2& two : decays_) {
      two.x = device::exp2_fast(two.x);
      two.y = key_gates ? device::exp2_fast(two.y) : two.x;
    }
  }
  __device__ __forceinline__ void send(int number, int i, float a, float b, float c,
                                       float d) const {
    store_there(to_ + number * tile_bytes + i * 2048, there_, a, b, c, d);
  }

  const Block& block_;
  unsigned at_;                  // where this thread's elements arrive
  unsigned to_ = 0, there_ = 0;  // where they go in the next block, and its mbarrier
  float2 decays_[numbers];
};

}  // namespace gla_bench::linear_recurrence::sm90
