// chunk_sm90: the same algorithm as chunk_fused, written for sm_90a. Each tensor is read once, and
// the state stays in registers.
//
// Idea: a block walks a sequence in chunks of 64 tokens, and its warps have different roles. One
// warp loads tiles of q, k, v and the gates with TMA bulk copies, up to `stages` chunks ahead. The
// gates are loaded first and have mbarriers of their own. Where shared memory holds only two
// stages, the next gates are also prefetched into the L2 cache. One or two warpgroups prepare a
// chunk: they multiply the decays into q and k in place, and write the scores A = tril(Q K^T) into
// a tile of their own. Other warpgroups hold the state. Each owns one or two tiles of 64 columns of
// V and keeps its part of the state, transposed, in float32 accumulators of wgmma (state.cuh):
//   o^T = S^T Q^T + V^T A^T,  S^T += V^T K.
// These warpgroups wait only for the preparation, which is one chunk ahead of them.
//
// A decay for each key (gates.cuh): a thread that prepares has eight tokens of up to eight
// neighbouring keys. Let b be the sum of log2 decays since the beginning of the chunk, and r its
// value in the middle of the chunk. q is scaled by 2^(b-r) and k by 2^(r-b). The state is kept in
// the same frame of reference, as 2^r S. One pair of tiles therefore serves the scores, the outputs
// and the update. These factors could leave the range of the number format where half a chunk
// decays by more than 62 bits in any key. The warps vote on whether that happens. If it does, each
// group of eight tokens gets a reference of its own (framing.cuh, strong.cuh), which is finite for
// every gate.
//
// One decay for all keys, or no decay (scalar.cuh): the factors are always finite, so no vote is
// needed.
//
// Many keys: with `cluster` > 1, that many blocks share the keys. Each prepares, scores and holds
// the state of its own keys only. Each tile of V belongs to one of the blocks, which adds up the
// outputs of all of them. The others send it their partial sums in float32 through its shared
// memory (outputs.cuh). The blocks exchange nothing else.
//
// Few heads: with `segments` > 1 a sequence is cut into segments, which run in parallel. The kernel
// chunk_sm90_states runs first. For each segment except a sequence's last, it computes the state
// that the segment reaches from zero and stores it with the segment's decays. It does not need q.
// It walks backwards from the last chunk, and stops where nothing of the earlier tokens survives
// the decays. It scales k by the decays up to the end of the segment, so the state itself needs no
// decays. In chunk_sm90, a block then starts from the states of the segments before its own of
// which something is left. It applies S <- diag(D) S + L for each of them in order. chunk_sm90 is
// launched before these states are ready, and only blocks that need them wait. With `parted` > 0,
// only that many sequences, the last ones, are cut into segments. That helps where whole sequences
// fill the multiprocessors and a few would still be running after all others are done.
//
// Short sequences: with `on_chip`, each preparing warpgroup has chunks of its own, and preparing
// one chunk needs nothing from another. The state leaves a chunk's frame at the end of that chunk.
// The segments of a sequence form a cluster and run in one launch. Each block passes the state on
// to the next block's shared memory (join.cuh). The first segment is walked once. The blocks
// between the first and the last keep all their chunks in shared memory and walk them twice. The
// first of the two walks computes only the state from zero, while the first block is at work. When
// a state arrives, it can be passed on at once as diag(D) S + L. The last block waits for its
// state.
//
// The forward of training also writes the state before each chunk (keep.cuh), 2 K V bytes for every
// 64 tokens.
//
// Grid: sequences * segments * slices of V * cluster. The slices of a segment are neighbours, and
// sequences that are not in segments come first. With `on_chip` the segments of a slice are
// neighbours.
//
// Shared memory: layout.h.
//
// Bytes: (q + k + gates) * slices + v * cluster (the L2 cache serves all reads but the first) + o,
// and the states that are given or asked for. With segments that are not `on_chip`, k, the gates
// and v of all segments but the last are read once more at most, and their states are written and
// read.

#include "linear_recurrence/sm90/gates.cuh"
#include "linear_recurrence/sm90/scalar.cuh"
#include "linear_recurrence/sm90/state.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Waits for the copies of a chunk that may never be used. No copy may arrive in the shared memory
/// of a block that has ended.
__device__ __forceinline__ void wait_for_all(const Stage& stage) {
  if constexpr (key_gates) barrier_wait(stage.gates_arrived(), stage.parity);
  barrier_wait(stage.arrived(), stage.parity);
  barrier_wait(stage.v_arrived(), stage.parity);
}

/// Whether the L2 cache fetches the next gates early. This is worthwhile where there are only two
/// stages.
inline constexpr bool gates_ahead = key_gates && layout.stages == 2;

/// Loads the tiles of each chunk as its stage becomes free. Gates come first, because they are used
/// while the other tiles are still on their way. Without outputs, walks the chunks backwards. Runs
/// on one thread.
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
    const auto bring = [&](int tiles, int place, const TensorMap& map, unsigned barrier, int column,
                           int columns = layout.columns) {
      for (int t = 0; t < tiles; ++t)
        copy_in(stage.begin + place + t * layout.tile_bytes, map, barrier, column + t * columns,
                token, block.head, block.batch);
    };
    if constexpr (key_gates) {
      barrier_expect(stage.gates_arrived(), layout.arriving_gates);
      bring(layout.gate_tiles, layout.gates, p.g, stage.gates_arrived(), block.first_key(),
            layout.gate_columns);
    }
    if (outputs && gates_freed_sooner && step >= layout.stages)
      barrier_wait(stage.freed(), stage.parity ^ 1u);
    barrier_expect(stage.arrived(), layout.arriving_k + (outputs ? layout.arriving_q : 0));
    if constexpr (outputs)
      bring(layout.key_tiles, layout.q, p.q, stage.arrived(), block.first_key());
    bring(layout.key_tiles, layout.k, p.k, stage.arrived(), block.first_key());
    barrier_expect(stage.v_arrived(), layout.arriving_v);
    bring(layout.values, layout.v, p.v, stage.v_arrived(), block.first_value());
    // Prefetches only the gates of the next chunk, because they are what the other warps wait for.
    if (gates_ahead && outputs && step > 0 && step + 1 < block.chunks)
      for (int t = 0; t < layout.gate_tiles; ++t)
        prefetch_box(p.g, block.first_key() + t * layout.gate_columns, token + layout.tokens,
                     block.head, block.batch);
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

/// Registers of a thread. All threads start with the number given here. Afterwards the warps that
/// prepare and those that hold the state have the numbers in Registers. Together with the registers
/// of the loading warps, they are no more than the launch has.
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
  if constexpr (together) cluster_barrier();  // the barriers of the other blocks are there
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
  if constexpr (together) cluster_barrier();  // nobody writes into a block that has ended
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
