#pragma once
// What the warps of a block of the backward of chunk_sm90 share: the block's sequence, its stages
// and their mbarriers.

#include "device/math.cuh"
#include "device/sm90_fragments.cuh"
#include "device/sm90_products.cuh"
#include "linear_recurrence/backward/rows.cuh"
#include "linear_recurrence/backward/sm90/layout.h"

namespace gla_bench::linear_recurrence::backward::sm90 {

using namespace device::sm90;

struct GradientSm90Params {
  TensorMap q, k, v, g, d_o, dq, dk, dv;
  GradientParams base;
};

inline constexpr bool wide_gates = key_gates && sizeof(gate_t) == 4;
inline constexpr bool token_gates = trait::decay == token_decay;
inline constexpr bool decays = trait::decay != no_decay;
static_assert(trait::decay != head_decay);

/// `states_only`: of the walk that keeps states.
template <bool states_only>
inline constexpr GradientSm90Layout layout_of{dim::key_dim, dim::value_dim, tile::stages,
                                              trait::decay, wide_gates,     states_only};
inline constexpr GradientSm90Layout layout = layout_of<false>;
static_assert(layout.bytes == launch::shared_bytes);

inline constexpr int chunk = GradientSm90Layout::tokens;
inline constexpr int tile_bytes = GradientSm90Layout::tile_bytes;
inline constexpr int groups = layout.groups, value_tiles = layout.value_tiles;
inline constexpr int consumers = 128 * groups;  ///< threads that multiply
inline constexpr int width64 = 64 * value_tiles;

/// The strongest decay of one token, in bits. 2^-200 is 0 in float32, and sums over the tokens of a
/// chunk are good to 2^-10 bits.
inline constexpr float strongest = -200.0f;
__device__ __forceinline__ float log2_decay(float g) {
  return fmaxf(g * device::log2_e, strongest);
}

/// Number of this thread's warpgroup: -1 is the one that loads.
__device__ __forceinline__ int group() {
  return static_cast<int>(threadIdx.x) / 128 - 1;
}

__device__ __forceinline__ float load_float(unsigned address) {
  return __uint_as_float(load_shared(address));
}
__device__ __forceinline__ void store_float(unsigned address, float x) {
  store_shared(address, __float_as_uint(x));
}

struct Stage {
  unsigned begin;     ///< shared address
  unsigned barriers;  ///< shared address of the stage's first mbarrier
  unsigned parity;    ///< phase parity of its mbarriers in this turn

  __device__ unsigned keys_arrived() const { return barriers; }        ///< q, k and gates
  __device__ unsigned values_arrived() const { return barriers + 8; }  ///< v and do
  __device__ unsigned finished() const { return barriers + 16; }       ///< results, or nothing
};

/// One sequence and head. `states_only`: of the walk that keeps states.
template <bool states_only>
struct Block {
  static constexpr GradientSm90Layout sizes = layout_of<states_only>;

  unsigned shared;  ///< shared address of the block's memory, a multiple of 1024
  long long pair;
  int batch, head, tokens, chunks;

  __device__ Block(const GradientParams& g, void* memory) {
    shared = (shared_address(memory) + 1023u) & ~1023u;
    pair = blockIdx.x;
    batch = static_cast<int>(pair / g.inputs.heads);
    head = static_cast<int>(pair % g.inputs.heads);
    tokens = static_cast<int>(g.inputs.seq);
    chunks = (tokens + chunk - 1) / chunk;
  }

  /// The stage of the walk's step.
  __device__ __forceinline__ Stage stage(int step) const {
    const int s = step % sizes.stages;
    return {shared + s * sizes.stage_bytes, shared + sizes.barriers + s * 8 * sizes.stage_barriers,
            static_cast<unsigned>(step / sizes.stages) & 1u};
  }
  /// Number of tokens of a chunk that exist.
  __device__ __forceinline__ int valid(int number) const {
    const int left = tokens - number * chunk;
    return left < chunk ? left : chunk;
  }
  __device__ void init_barriers() const {
    for (int s = 0; s < sizes.stages; ++s) {
      const Stage at = stage(s);
      barrier_init(at.keys_arrived(), token_gates ? 33 : 1);
      barrier_init(at.values_arrived(), 1);
      barrier_init(at.finished(), consumers);
    }
    barrier_init_fence();
  }

  /// The first of the words of a kept state: that before chunk `number`. It lies in blocks of 16
  /// keys by 16 columns of V, block by block of the keys, in bfloat16, as a product's operand A.
  __device__ __forceinline__ uint4* kept(const GradientParams& g, int number) const {
    return static_cast<uint4*>(g.inputs.work[work::chunk_states]) +
           (pair * (chunks + 1) + number) * (sizes.state_words / 4);
  }
};

// --- the warps that load

/// Brings the chunks' tiles in, and takes the results out that have taken their place. Runs on one
/// thread.
template <bool states_only>
__device__ __forceinline__ void move_tiles(const GradientSm90Params& p,
                                           const Block<states_only>& block) {
  constexpr GradientSm90Layout sizes = layout_of<states_only>;
  const auto token_of = [&](int step) {
    return (states_only ? step : block.chunks - 1 - step) * chunk;
  };
  const auto bring = [&](const Stage& stage, int tiles, int place, const TensorMap& map,
                         unsigned barrier, int token, int columns = 64) {
    for (int t = 0; t < tiles; ++t)
      copy_in(stage.begin + place + t * tile_bytes, map, barrier, t * columns, token, block.head,
              block.batch);
  };
  const auto finish = [&](int step) {
    const Stage stage = block.stage(step);
    barrier_wait(stage.finished(), stage.parity);
    if constexpr (!states_only) {
      const auto take = [&](int tiles, int place, const TensorMap& map) {
        for (int t = 0; t < tiles; ++t)
          copy_out(map, stage.begin + place + t * tile_bytes, 64 * t, token_of(step), block.head,
                   block.batch);
      };
      take(sizes.key_tiles, sizes.q, p.dq);
      take(sizes.key_tiles, sizes.k, p.dk);
      take(sizes.value_tiles, sizes.v, p.dv);
      copies_commit();
      copies_read<0>();
    }
  };
  for (int step = 0; step < block.chunks; ++step) {
    if (step >= sizes.stages) finish(step - sizes.stages);
    const Stage stage = block.stage(step);
    const int token = token_of(step);
    barrier_expect(stage.keys_arrived(), sizes.arriving_keys);
    if constexpr (key_gates)
      bring(stage, sizes.gate_tiles, sizes.gate, p.g, stage.keys_arrived(), token,
            sizes.gate_columns);
    bring(stage, sizes.key_tiles, sizes.k, p.k, stage.keys_arrived(), token);
    if constexpr (!states_only)
      bring(stage, sizes.key_tiles, sizes.q, p.q, stage.keys_arrived(), token);
    barrier_expect(stage.values_arrived(), sizes.arriving_values);
    bring(stage, sizes.value_tiles, sizes.v, p.v, stage.values_arrived(), token);
    if constexpr (!states_only)
      bring(stage, sizes.value_tiles, sizes.d_o, p.d_o, stage.values_arrived(), token);
  }
  if constexpr (!states_only)
    for (int step = block.chunks < sizes.stages ? 0 : block.chunks - sizes.stages;
         step < block.chunks; ++step)
      finish(step);
}

/// Writes the decays of each token, in bits, where there is one for all keys. Runs on one warp.
template <bool states_only>
__device__ __forceinline__ void load_token_gates(const GradientSm90Params& p,
                                                 const Block<states_only>& block) {
  const Sequence of(p.base, block.pair);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int step = 0; step < block.chunks; ++step) {
    if (step >= layout.stages) {
      const Stage before = block.stage(step - layout.stages);
      barrier_wait(before.finished(), before.parity);
    }
    const Stage stage = block.stage(step);
    const int number = states_only ? step : block.chunks - 1 - step;
#pragma unroll
    for (int i = lane; i < chunk; i += 32) {
      const int token = number * chunk + i;
      store_float(stage.begin + layout_of<states_only>.token_gates + 4 * i,
                  token < block.tokens ? log2_decay(of.gate(token, 0)) : 0.0f);
    }
    barrier_arrive(stage.keys_arrived());
  }
}

}  // namespace gla_bench::linear_recurrence::backward::sm90
