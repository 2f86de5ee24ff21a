// chunk_sm90: chunk_fused for sm_90a. Each tensor read once, the state in registers.
//
// Idea: a block walks a sequence in chunks of 64 tokens. One warp brings tiles of q, k, v and the
// gates in by bulk copies, `stages` chunks ahead. Gates come first and have barriers of their own,
// and where two stages are all that fits the L2 fetches the next ones sooner. One or two groups of
// four warps prepare a chunk: the decays go into q and k where they lie, the scores A = tril(Q K^T)
// into a tile of their own. Groups of four warps own one or two tiles of 64 columns of V each and
// hold their part of the state, transposed, in float32 accumulators of wgmma
// (state.cuh): o^T = S^T Q^T + V^T A^T, S^T += V^T K. They wait for nobody but the
// preparation, which is a chunk ahead.
//
// A decay for each key (gates.cuh): a thread that prepares has eight tokens of up to
// eight neighbouring keys. With b the sum of log2 decays since the chunk's begin and r its value in
// the middle, q is scaled by 2^(b-r) and k by 2^(r-b), and the state is kept in the same frame,
// 2^r S: one pair of tiles serves scores, outputs and update. Where half a chunk decays by more
// than 62 bits in any key, which the warps vote on, eight tokens at a time get a reference of their
// own (framing.cuh, strong.cuh): finite for every gate. One decay for all
// keys, or none: scalar.cuh, finite without a vote.
//
// Many keys: with `cluster` > 1 so many blocks share them, and prepare, score and hold the state of
// their own alone. What they have of the outputs goes to the block that adds a tile of V up, in
// float32 through its shared memory (outputs.cuh); nothing else is exchanged.
//
// Few heads: with `segments` > 1 chunk_sm90_states first makes the state of each segment but a
// sequence's last from zero, without q, and keeps it and its decays. It walks from the last chunk
// on, and stops where nothing is left of what comes before: its k go to the segment's end, and the
// state needs no decays. In chunk_sm90 a block begins with the states of the segments before its
// own of which something is left, S <- diag(D) S + L one after the other; it is launched before
// they are there, and only a block that needs them waits. With `parted` only so many sequences, the
// last, are in segments: where the multiprocessors are full of whole ones, and a few would run when
// all others are done.
//
// Short sequences: with `on_chip` each group that prepares has chunks of its own, and nothing of
// one is needed for another; the state leaves each chunk's frame at its end. The segments of a
// sequence are a cluster, whose blocks pass the state on from one to the next's shared memory
// (join.cuh), in one launch. The first is walked once. Those between keep all their
// chunks in shared memory and walk them twice, first the state alone from zero, while the first is
// at work: what comes then goes on as diag(D) S + L at once. The last waits.
//
// Grid: sequences * segments * slices of V * cluster, the slices of a segment side by side and
// sequences that are not in segments first; with
// `on_chip` the segments of a slice. Shared memory: layout.h. Bytes: (q + k + gates) *
// slices + v * cluster (the L2 serves all but the first) + o, and the states that are given or
// asked for; with segments that are not `on_chip` k, gates and v of all but the last once more at
// most, and their states written and read.

#include "linear_recurrence/sm90/gates.cuh"
#include "linear_recurrence/sm90/scalar.cuh"
#include "linear_recurrence/sm90/state.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Waits for the copies of a chunk that may not be worked on: nothing may arrive in a block that
/// has ended.
__device__ __forceinline__ void wait_for_all(const Stage& stage) {
  if constexpr (key_gates) barrier_wait(stage.gates_arrived(), stage.parity);
  barrier_wait(stage.arrived(), stage.parity);
  barrier_wait(stage.v_arrived(), stage.parity);
}

/// Where two stages are all that there is the L2 fetches gates sooner.
inline constexpr bool gates_ahead = key_gates && layout.stages == 2;

/// Brings the tiles of each chunk in as its stage is freed, gates first: they are looked at while
/// the others are on their way. Of states alone from the last chunk on. One thread.
template <bool outputs>
__device__ __forceinline__ void load_chunks(const ChunkSm90Params& p, const Block& block) {
  if constexpr (key_gates) prefetch_map(p.g);
  if constexpr (outputs) prefetch_map(p.q);
  prefetch_map(p.k), prefetch_map(p.v);
  int step = 0;
  for (; step < block.chunks; ++step) {
    const Stage stage = block.stage(step);
    if (step >= layout.stages) {
      constexpr bool sooner = outputs && gates_freed_sooner;
      barrier_wait(sooner ? stage.gates_freed() : stage.freed(), stage.parity ^ 1u);
      if (!outputs && is_last(stage)) break;
    }
    const int chunk = outputs ? step : block.backwards(step);
    const int token = block.first_token + chunk * layout.tokens;
    const auto bring = [&](int tiles, int place, const TensorMap& map, unsigned barrier,
                           int column) {
      for (int t = 0; t < tiles; ++t)
        copy_in(stage.begin + place + t * layout.tile_bytes, map, barrier,
                column + t * layout.columns, token, block.head, block.batch);
    };
    if constexpr (key_gates) {
      barrier_expect(stage.gates_arrived(), layout.arriving_gates);
      bring(layout.key_tiles, layout.gates, p.g, stage.gates_arrived(), block.first_key());
    }
    if (outputs && gates_freed_sooner && step >= layout.stages)
      barrier_wait(stage.freed(), stage.parity ^ 1u);
    barrier_expect(stage.arrived(), layout.arriving_k + (outputs ? layout.arriving_q : 0));
    if constexpr (outputs)
      bring(layout.key_tiles, layout.q, p.q, stage.arrived(), block.first_key());
    bring(layout.key_tiles, layout.k, p.k, stage.arrived(), block.first_key());
    barrier_expect(stage.v_arrived(), layout.arriving_v);
    bring(layout.values, layout.v, p.v, stage.v_arrived(), block.first_value());
    // The next chunk's gates alone: they are what is waited for.
    if (gates_ahead && outputs && step > 0 && step + 1 < block.chunks)
      for (int t = 0; t < layout.key_tiles; ++t)
        prefetch_box(p.g, block.first_key() + t * layout.columns, token + layout.tokens, block.head,
                     block.batch);
  }
  if constexpr (!outputs)
    for (int i = 1; i <= layout.stages && i <= step; ++i) wait_for_all(block.stage(step - i));
}

__device__ __forceinline__ void init_barriers(const Block& block) {
  for (int s = 0; s < layout.stages; ++s) {
    const Stage stage = block.stage(s);
    if constexpr (key_gates) barrier_init(stage.gates_arrived(), 1);
    barrier_init(stage.arrived(), 1);
    barrier_init(stage.v_arrived(), 1);
    barrier_init(stage.ready(), preparing_threads);
    barrier_init(stage.freed(), 4 * layout.value_groups);
    barrier_init(stage.gates_freed(), 4 * layout.value_groups);
  }
  for (int t = 0; cluster > 1 && t < layout.values; ++t) {
    barrier_init(block.sums_there(t), 1);
    barrier_init(block.sums_taken(t), 1);
  }
  if constexpr (joined) Passing::announce(block);
  barrier_init_fence();
}

/// Registers of a thread: at launch, and from then on of the warps that prepare and of those that
/// hold the state. Together with those of the warps that load they are no more than the launch has.
inline constexpr int launch_registers = 65536 / layout.threads / 8 * 8;
struct Registers {
  int prepare, hold_state;
};
__host__ __device__ constexpr Registers registers_of_roles() {
  constexpr bool much_state = layout.key_tiles * layout.value_tiles == 4;
  if (layout.preparers == 3) return {104, 144};
  if (layout.preparers == 2) return much_state ? Registers{128, 232} : Registers{152, 176};
  if (layout.value_groups == 1) return {208, 240};
  return much_state ? Registers{88, 200} : Registers{152, 168};
}
inline constexpr int loading_registers = 24;
inline constexpr Registers registers = registers_of_roles();
static_assert(loading_registers + layout.preparers * registers.prepare +
                  layout.value_groups * registers.hold_state <=
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
  if (group() < 0) {
    registers_to<loading_registers>();
    if (threadIdx.x == 0) load_chunks<outputs>(p, block);
  } else if (group() < layout.preparers) {
    registers_to<registers.prepare>();
    Preparers(p, block).template run<outputs>();
  } else {
    registers_to<registers.hold_state>();
    StateGroup(p, block, group() - layout.preparers).template run<outputs>();
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
  let_next_begin();
  if constexpr (segments > 1 && !joined) run<false>(p, Block(p, memory, segments - 1));
}
