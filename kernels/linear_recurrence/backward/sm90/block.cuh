#pragma once
// What the warps of a block of the backward of chunk_sm90 share: the block's sequence, its stages
// and their mbarriers.

#include "device/math.cuh"
#include "device/sm90_fragments.cuh"
#include "device/warp_products.cuh"
#include "linear_recurrence/backward/rows.cuh"
#include "linear_recurrence/backward/sm90/layout.h"
#include "linear_recurrence/sm90/kept.h"

namespace gla_bench::linear_recurrence::backward::sm90 {

using namespace device::sm90;

struct GradientSm90Params {
  TensorMap q, k, v, g, d_o, dq, dk, dv;
  GradientParams base;
};

inline constexpr bool wide_gates = key_gates && sizeof(gate_t) == 4;
/// Whether all keys of a token have one decay. A constant one is that of all tokens.
inline constexpr bool token_gates = scalar_decay;
inline constexpr bool decays = trait::decay != no_decay;

using Pass = GradientPass;
template <Pass pass>
inline constexpr GradientSm90Layout layout_of{dim::key_dim, dim::value_dim, tile::stages,
                                              trait::decay, wide_gates,     pass};
inline constexpr GradientSm90Layout layout = layout_of<Pass::gradients>;
static_assert(layout.bytes == launch::shared_bytes);

inline constexpr int chunk = GradientSm90Layout::tokens;
inline constexpr int tile_bytes = GradientSm90Layout::tile_bytes;
inline constexpr int groups = layout.groups, value_tiles = layout.value_tiles;
inline constexpr int consumers = 128 * groups;  ///< threads that multiply
inline constexpr int width64 = 64 * value_tiles;
inline constexpr int segments = tile::segments;
inline constexpr int key_slices = layout.key_slices, value_slices = layout.value_slices;
inline constexpr int all_slices = layout.slices;
static_assert(key_slices <= 2 && value_slices <= 2);
/// The states that are kept, of all slices.
inline constexpr KeptState kept_state{dim::key_dim, dim::value_dim};
/// Whether the forward of training has kept the states.
inline constexpr bool states_given = launch::given_states != 0;
/// What a segment adds: to the gradient of a state, and to a state where none is given.
inline constexpr int sum_kinds = states_given ? 1 : 2;

/// With one group of warps a chunk's factors of decays are kept in registers from its beginning to
/// its end. With two groups there are no registers for them.
inline constexpr bool keeps_factors = groups == 1;

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

/// One segment of a sequence and head, and a slice of its keys and of V.
template <Pass pass>
struct Block {
  static constexpr GradientSm90Layout sizes = layout_of<pass>;

  unsigned shared;  ///< shared address of the block's memory, a multiple of 1024
  long long pair;
  int batch, head, segment;
  int key_slice, value_slice;
  int round;           ///< number of the walk's launch
  int tokens, chunks;  ///< of the sequence
  int first, steps;    ///< the segment's first chunk, and their number

  __device__ Block(const GradientParams& g, void* memory, int number_of_launch)
      : round(number_of_launch) {
    shared = (shared_address(memory) + 1023u) & ~1023u;
    segment = static_cast<int>(blockIdx.x % segments);
    const int part = static_cast<int>(blockIdx.x / segments);
    pair = part / sizes.side_by_side;
    const int n = part % sizes.side_by_side;
    if constexpr (sizes.results) {
      // With two slices of both, (0, 0) and (1, 1), then (0, 1) and (1, 0).
      key_slice = key_slices == 1 ? 0 : value_slices == 1 ? round : n;
      value_slice = value_slices == 1 ? 0 : key_slices == 1 ? round : n ^ round;
    } else {
      key_slice = n / value_slices, value_slice = n % value_slices;
    }
    batch = static_cast<int>(pair / g.inputs.heads);
    head = static_cast<int>(pair % g.inputs.heads);
    tokens = static_cast<int>(g.inputs.seq);
    chunks = (tokens + chunk - 1) / chunk;
    first = first_of(segment), steps = first_of(segment + 1) - first;
  }
  __device__ __forceinline__ int first_of(int number) const {
    return static_cast<int>(1LL * number * chunks / segments);
  }

  /// Whether a launch before has stored its dq and dk, or its dv.
  __device__ __forceinline__ bool adds_keys() const { return value_slices > 1 && round > 0; }
  __device__ __forceinline__ bool adds_values() const { return key_slices > 1 && round > 0; }

  /// The chunk of the walk's step.
  __device__ __forceinline__ int number(int step) const {
    return pass == Pass::gradients ? first + steps - 1 - step : first + step;
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

  __device__ __forceinline__ int first_key() const { return sizes.slice * key_slice; }
  __device__ __forceinline__ int first_column() const { return sizes.slice * value_slice; }
  /// Number of the pair of slices among those of its sequence.
  __device__ __forceinline__ int slice() const { return key_slice * value_slices + value_slice; }

  /// Where this thread's eight elements of the 16 x 16 blocks of a kept state lie, 32 behind one
  /// another: of that before chunk `number`, of the block's slice of V and the warp's keys. `warp`:
  /// number of the warp among those of the slice's keys.
  __device__ __forceinline__ uint4* kept(const GradientParams& g, int number, int warp) const {
    return static_cast<uint4*>(g.inputs.work[work::chunk_states]) +
           ((pair * chunks + number) * kept_state.blocks +
            (first_key() / 16 + warp) * kept_state.value_blocks + first_column() / 16) *
               32 +
           threadIdx.x % 32;
  }
  /// Whether a kept state has the warp's keys and block n of the slice of V.
  __device__ __forceinline__ bool keeps(int warp, int n) const {
    return (key_slices == 1 || first_key() / 16 + warp < kept_state.key_blocks) &&
           (value_slices == 1 || first_column() / 16 + n < kept_state.value_blocks);
  }

  /// Brings what is kept of the state before chunk `number`, of the block's slices, into the L2
  /// cache. Runs on one thread.
  __device__ __forceinline__ void prefetch_state(const GradientParams& g, int number) const {
    const int first_row = first_key() / 16, first_block = first_column() / 16;
    const int columns_left = kept_state.value_blocks - first_block;
    const int blocks = columns_left < sizes.value_blocks ? columns_left : sizes.value_blocks;
    const unsigned char* state =
        static_cast<const unsigned char*>(g.inputs.work[work::chunk_states]) +
        (pair * chunks + number) * kept_state.bytes;
    for (int row = first_row; row < first_row + sizes.key_blocks && row < kept_state.key_blocks;
         ++row)
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(
                       state + (row * kept_state.value_blocks + first_block) * 512),
                   "r"(512 * blocks)
                   : "memory");
  }

  /// Where this thread's elements of what segment `number` of the sequence adds lie, each
  /// `consumers` behind the one before: of the state behind it or, with `change`, of the gradient
  /// of the state before it.
  __device__ __forceinline__ float4* segment_sum(const GradientParams& g, int number,
                                                 bool change) const {
    return static_cast<float4*>(g.inputs.work[work::segment_sums]) +
           (number_of(number) * sum_kinds + (states_given ? 0 : change)) *
               (width64 / 8 * consumers) +
           threadIdx.x - 128;
  }
  /// What a segment leaves of a key of the state before it.
  __device__ __forceinline__ float& segment_factor(const GradientParams& g, int number,
                                                   int key) const {
    return static_cast<float*>(
        g.inputs.work[work::segment_factors])[number_of(number) * 64 * groups + key - first_key()];
  }

 private:
  /// Number of a segment among those of all sequences and slices.
  __device__ __forceinline__ long long number_of(int segment_number) const {
    return (pair * all_slices + slice()) * segments + segment_number;
  }
};

// --- the warps that load

/// Like copy_out(), but has the box's elements added to the tensor's, each sum rounded to nearest.
__device__ __forceinline__ void add_out(const TensorMap& map, unsigned from, int c0, int c1, int c2,
                                        int c3) {
  asm volatile(
      "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group "
      "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(reinterpret_cast<unsigned long long>(&map)),
      "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
      : "memory");
}

/// Brings the chunks' tiles in, and takes the results out that have taken their place. Runs on one
/// thread.
template <Pass pass>
__device__ __forceinline__ void move_tiles(const GradientSm90Params& p, const Block<pass>& block) {
  constexpr GradientSm90Layout sizes = layout_of<pass>;
  const auto token_of = [&](int step) { return block.number(step) * chunk; };
  const auto bring = [&](const Stage& stage, int tiles, int place, const TensorMap& map,
                         unsigned barrier, int token, int first, int columns = 64) {
    for (int t = 0; t < tiles; ++t)
      copy_in(stage.begin + place + t * tile_bytes, map, barrier, first + t * columns, token,
              block.head, block.batch);
  };
  const auto finish = [&](int step) {
    const Stage stage = block.stage(step);
    barrier_wait(stage.finished(), stage.parity);
    if constexpr (layout_of<pass>.results) {
      const auto take = [&](bool adds, int tiles, int place, const TensorMap& map, int first) {
        for (int t = 0; t < tiles; ++t) {
          const unsigned from = stage.begin + place + t * tile_bytes;
          if (adds)
            add_out(map, from, first + 64 * t, token_of(step), block.head, block.batch);
          else
            copy_out(map, from, first + 64 * t, token_of(step), block.head, block.batch);
        }
      };
      take(block.adds_keys(), sizes.key_tiles, sizes.q, p.dq, block.first_key());
      take(block.adds_keys(), sizes.key_tiles, sizes.k, p.dk, block.first_key());
      take(block.adds_values(), sizes.value_tiles, sizes.v, p.dv, block.first_column());
      copies_commit();
      copies_read<0>();
    }
  };
  for (int step = 0; step < block.steps; ++step) {
    if (step >= sizes.stages) finish(step - sizes.stages);
    // Not earlier: by the chunk before, what other blocks read would have driven it out again.
    if constexpr (sizes.results) block.prefetch_state(p.base, block.number(step));
    const Stage stage = block.stage(step);
    const int token = token_of(step);
    barrier_expect(stage.keys_arrived(), sizes.arriving_keys);
    if constexpr (key_gates)
      bring(stage, sizes.gate_tiles, sizes.gate, p.g, stage.keys_arrived(), token,
            block.first_key(), sizes.gate_columns);
    if constexpr (sizes.inputs)
      bring(stage, sizes.key_tiles, sizes.k, p.k, stage.keys_arrived(), token, block.first_key());
    if constexpr (sizes.outputs)
      bring(stage, sizes.key_tiles, sizes.q, p.q, stage.keys_arrived(), token, block.first_key());
    barrier_expect(stage.values_arrived(), sizes.arriving_values);
    if constexpr (sizes.inputs)
      bring(stage, sizes.value_tiles, sizes.v, p.v, stage.values_arrived(), token,
            block.first_column());
    if constexpr (sizes.outputs)
      bring(stage, sizes.value_tiles, sizes.d_o, p.d_o, stage.values_arrived(), token,
            block.first_column());
  }
  if constexpr (sizes.results)
    for (int step = block.steps < sizes.stages ? 0 : block.steps - sizes.stages; step < block.steps;
         ++step)
      finish(step);
}

/// The decay of a token, in bits, where there is one for all keys.
__device__ __forceinline__ float token_bits(const Sequence& of, int token) {
  if constexpr (trait::decay == head_decay)
    return log2_decay(of.g.inputs.log_decay[of.head]);
  else
    return log2_decay(of.gate(token, 0));
}

/// Writes the decays of each token, in bits, where there is one for all keys. Runs on one warp.
template <Pass pass>
__device__ __forceinline__ void load_token_gates(const GradientSm90Params& p,
                                                 const Block<pass>& block) {
  const Sequence of(p.base, block.pair);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int step = 0; step < block.steps; ++step) {
    if (step >= layout.stages) {
      const Stage before = block.stage(step - layout.stages);
      barrier_wait(before.finished(), before.parity);
    }
    const Stage stage = block.stage(step);
    const int number = block.number(step);
#pragma unroll
    for (int i = lane; i < chunk; i += 32) {
      const int token = number * chunk + i;
      store_float(stage.begin + layout_of<pass>.token_gates + 4 * i,
                  token < block.tokens ? token_bits(of, token) : 0.0f);
    }
    barrier_arrive(stage.keys_arrived());
  }
}

}  // namespace gla_bench::linear_recurrence::backward::sm90
