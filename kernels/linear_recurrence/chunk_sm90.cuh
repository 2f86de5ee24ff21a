// chunk_sm90: chunk_fused for sm_90a. Each tensor read once, the state in registers.
//
// Idea: a block walks a sequence in chunks of 64 tokens. One warp brings tiles of q, k, v and the
// gates in by bulk copies, `stages` chunks ahead. One or two groups of four warps prepare a chunk:
// the decays go into q and k where they lie, the scores A = tril(Q K^T) into a tile of their own.
// Groups of four warps own one or two tiles of 64 columns of V each and hold their part of the
// state, transposed, in float32 accumulators of wgmma (chunk_sm90_state.cuh): o^T = S^T Q^T + V^T
// A^T, S^T += V^T K. They wait for nobody but the preparation, which is a chunk ahead.
//
// A decay for each key (chunk_sm90_gates.cuh): a thread that prepares has eight tokens of up to
// eight neighbouring keys. With b the sum of log2 decays since the chunk's begin and r its value in
// the middle, q is scaled by 2^(b-r) and k by 2^(r-b), and the state is kept in the same frame,
// 2^r S: one pair of tiles serves scores, outputs and update. Where half a chunk decays by more
// than 62 bits in any key, which the warps vote on, eight tokens at a time get a reference of their
// own (chunk_sm90_framing.cuh, chunk_sm90_strong.cuh): finite for every gate. One decay for all
// keys, or none: chunk_sm90_scalar.cuh, finite without a vote.
//
// Many keys: with `cluster` > 1 so many blocks share them, and prepare, score and hold the state of
// their own alone. What they have of the outputs goes to the block that adds a tile of V up, in
// float32 through its shared memory (chunk_sm90_outputs.cuh); nothing else is exchanged.
//
// Few heads: with `segments` > 1 chunk_sm90_states first walks each segment but a sequence's last
// from zero, without q, and keeps state and decays; in chunk_sm90 a block begins with the states of
// the segments before its own, S <- diag(D) S + L one after the other.
//
// Short sequences: with `on_chip` each group that prepares has chunks of its own, and nothing of
// one is needed for another; the state leaves each chunk's frame at its end. The segments of a
// sequence are a cluster, whose blocks pass the state on from one to the next's shared memory
// (chunk_sm90_join.cuh), in one launch. The first is walked once. Those between keep all their
// chunks in shared memory and walk them twice, first the state alone from zero, while the first is
// at work: what comes then goes on as diag(D) S + L at once. The last waits.
//
// Grid: sequences * segments * slices of V * cluster, the slices of a segment side by side; with
// `on_chip` the segments of a slice. Shared memory: chunk_sm90_layout.h. Bytes: (q + k + gates) *
// slices + v * cluster (the L2 serves all but the first) + o, and the states that are given or
// asked for; with segments that are not `on_chip` k, gates and v of all but the last once more, and
// their states written and read.

#include "linear_recurrence/chunk_sm90_gates.cuh"
#include "linear_recurrence/chunk_sm90_scalar.cuh"
#include "linear_recurrence/chunk_sm90_state.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Brings the tiles of each chunk in as its stage is freed. One thread.
template <bool outputs>
__device__ __forceinline__ void load_chunks(const ChunkSm90Params& p, const Block& block) {
  if constexpr (outputs) prefetch_map(p.q);
  if constexpr (key_gates) prefetch_map(p.g);
  prefetch_map(p.k), prefetch_map(p.v);
  for (int c = 0; c < block.chunks; ++c) {
    const Stage stage = block.stage(c);
    if (c >= layout.stages) barrier_wait(stage.freed(), stage.parity ^ 1u);
    barrier_expect(stage.arrived(), layout.arriving + (outputs ? layout.arriving_q : 0));
    barrier_expect(stage.v_arrived(), layout.arriving_v);
    const int token = block.first_token + c * layout.tokens;
    const auto bring = [&](int place, const TensorMap& map, unsigned barrier, int column) {
      copy_in(stage.begin + place, map, barrier, column, token, block.head, block.batch);
    };
    for (int t = 0; t < layout.key_tiles; ++t) {
      const int place = t * layout.tile_bytes, column = block.first_key() + t * layout.columns;
      if constexpr (key_gates) bring(layout.gates + place, p.g, stage.arrived(), column);
      if constexpr (outputs) bring(layout.q + place, p.q, stage.arrived(), column);
      bring(layout.k + place, p.k, stage.arrived(), column);
    }
    for (int t = 0; t < layout.values; ++t)
      bring(layout.v + t * layout.tile_bytes, p.v, stage.v_arrived(),
            block.first_value() + t * layout.columns);
  }
}

__device__ __forceinline__ void init_barriers(const Block& block) {
  for (int s = 0; s < layout.stages; ++s) {
    const Stage stage = block.stage(s);
    barrier_init(stage.arrived(), 1);
    barrier_init(stage.v_arrived(), 1);
    barrier_init(stage.ready(), preparing_threads);
    barrier_init(stage.freed(), 4 * layout.value_groups);
  }
  for (int t = 0; cluster > 1 && t < layout.values; ++t) {
    barrier_init(block.sums_there(t), 1);
    barrier_init(block.sums_taken(t), 1);
  }
  if constexpr (joined) Passing::announce(block);
  barrier_init_fence();
}

/// Registers of a thread: at launch, of the warps that prepare and of those that hold the state.
/// Together with 24 of the warps that load they are no more than the launch has.
inline constexpr int launch_registers = 65536 / layout.threads / 8 * 8;
inline constexpr bool one_group = layout.value_groups == 1, one_preparer = layout.preparers == 1;
inline constexpr bool many_preparers = layout.preparers > 2;
inline constexpr bool much_state = layout.key_tiles * layout.value_tiles == 4;
static_assert(one_group || one_preparer);
inline constexpr int preparing_registers = one_preparer     ? (one_group    ? 208
                                                               : much_state ? 88
                                                                            : 152)
                                           : many_preparers ? 104
                                                            : (much_state ? 128 : 152);
inline constexpr int state_registers = one_preparer     ? (one_group    ? 240
                                                           : much_state ? 200
                                                                        : 168)
                                       : many_preparers ? 144
                                                        : (much_state ? 232 : 176);
static_assert(24 + layout.preparers * preparing_registers + layout.value_groups * state_registers <=
              layout.threads / 128 * launch_registers);

template <int count>
__device__ __forceinline__ void registers_to() {
  if constexpr (count > launch_registers)
    registers_up<count>();
  else if constexpr (count < launch_registers)
    registers_down<count>();
}

template <bool outputs>
__device__ __forceinline__ void run(const ChunkSm90Params& p, const Block& block) {
  using Preparers = gla_bench::device::Choice<key_gates, Preparation, ScalarPreparation>::type;
  constexpr bool together = outputs && started_together > 1;
  if (threadIdx.x == 0) {
    init_barriers(block);
    if constexpr (outputs && cluster > 1) Outputs::announce(block);
  }
  __syncthreads();
  if constexpr (together) cluster_barrier();  // the others' barriers are there
  const int group = threadIdx.x / 128;
  if (group == 0) {
    registers_to<24>();
    if (threadIdx.x == 0) load_chunks<outputs>(p, block);
  } else if (group <= layout.preparers) {
    registers_to<preparing_registers>();
    Preparers(p, block).template run<outputs>();
  } else {
    registers_to<state_registers>();
    StateGroup(p, block, group - 1 - layout.preparers).template run<outputs>();
  }
  if constexpr (together) cluster_barrier();  // nobody reaches into a block that has ended
}

}  // namespace gla_bench::linear_recurrence::sm90

extern "C" __global__ void __cluster_dims__(gla_bench::linear_recurrence::sm90::started_together, 1,
                                            1)
    __launch_bounds__(gla_bench::linear_recurrence::sm90::layout.threads, 1)
        chunk_sm90(const __grid_constant__ gla_bench::linear_recurrence::sm90::ChunkSm90Params p) {
  using namespace gla_bench::linear_recurrence::sm90;
  extern __shared__ unsigned char memory[];
  run<true>(p, Block(p, memory, segments));
}

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::sm90::layout.threads, 1)
    chunk_sm90_states(
        const __grid_constant__ gla_bench::linear_recurrence::sm90::ChunkSm90Params p) {
  using namespace gla_bench::linear_recurrence::sm90;
  extern __shared__ unsigned char memory[];
  if constexpr (segments > 1 && !joined) run<false>(p, Block(p, memory, segments - 1));
}
