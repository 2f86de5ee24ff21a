// chunk_sm90: chunk_fused for sm_90a. One launch, each tensor read once, the state in registers.
//
// Idea: a block walks a sequence in chunks of 64 tokens. One warp brings tiles of q, k, v and the
// gates in by bulk copies, `stages` chunks ahead. Four warps prepare a chunk
// (chunk_sm90_gates.cuh): the decays go into q and k where they lie, and the scores A = tril(Q K^T)
// into the gates' place. Groups of four warps own 64 columns of V each and hold their part of the
// state, transposed, in float32 accumulators of wgmma (chunk_sm90_state.cuh): o^T = S^T Q^T + V^T
// A^T, S^T += V^T K. They wait for nobody but the preparation, which is a chunk ahead.
//
// Decays: with b the sum of log2 decays since the chunk's begin and r its value in the middle, q is
// scaled by 2^(b-r) and k by 2^(r-b), and the state is kept in the same frame, 2^r S: one pair of
// tiles serves scores, outputs and update. Where a half chunk decays by more than 62 bits in any
// key, which all four warps vote on, eight tokens at a time get a reference of their own (rounded to a
// whole number, so that going from one to another is exact), and the scores come from warp-level
// products that step from reference to reference: finite for every gate.
//
// Grid: sequences * slices of V, the slices of a sequence side by side. Shared memory:
// chunk_sm90_layout.h. Bytes: (q + k + gates) * slices (the L2 serves all but the first) + v + o,
// and the states that are given or asked for.

#include "linear_recurrence/chunk_sm90_gates.cuh"
#include "linear_recurrence/chunk_sm90_state.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Brings the tiles of each chunk in as its stage is freed. One thread.
__device__ __forceinline__ void load_chunks(const ChunkSm90Params& p, const Block& block) {
  prefetch_map(p.q), prefetch_map(p.k), prefetch_map(p.v);
  if constexpr (layout.key_gates) prefetch_map(p.g);
  for (int c = 0; c < block.chunks; ++c) {
    const Stage stage = block.stage(c);
    if (c >= layout.stages) barrier_wait(stage.freed(), stage.parity ^ 1u);
    barrier_expect(stage.arrived(), layout.arriving);
    const int token = block.first_token + c * layout.tokens;
    const auto bring = [&](int place, const TensorMap& map, int column) {
      copy_in(stage.begin + place, map, stage.arrived(), column, token, block.head, block.batch);
    };
    for (int t = 0; t < layout.key_tiles; ++t) {
      bring(layout.q + t * layout.tile_bytes, p.q, t * layout.columns);
      bring(layout.k + t * layout.tile_bytes, p.k, t * layout.columns);
      if constexpr (layout.key_gates)
        bring(layout.gates + t * layout.tile_bytes, p.g, t * layout.columns);
    }
    for (int t = 0; t < layout.value_groups; ++t)
      bring(layout.v + t * layout.tile_bytes, p.v, block.first_value + t * layout.columns);
  }
}

__device__ __forceinline__ void init_barriers(const Block& block) {
  for (int s = 0; s < layout.stages; ++s) {
    const Stage stage = block.stage(s);
    barrier_init(stage.arrived(), 1);
    barrier_init(stage.ready(), 128);
    barrier_init(stage.freed(), 4 * layout.value_groups);
  }
  barrier_init_fence();
}

}  // namespace gla_bench::linear_recurrence::sm90

extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::sm90::layout.threads, 1)
    chunk_sm90(const __grid_constant__ gla_bench::linear_recurrence::sm90::ChunkSm90Params p) {
  using namespace gla_bench::linear_recurrence::sm90;
  extern __shared__ unsigned char memory[];
  const Block block(p, memory);
  if (threadIdx.x == 0) init_barriers(block);
  __syncthreads();
  const int group = threadIdx.x / 128;
  if (group == 0) {
    registers_down<24>();
    if (threadIdx.x == 0) load_chunks(p, block);
  } else if (group == 1) {
    registers_up<layout.value_groups == 1 ? 208 : 152>();
    Preparation{p, block}.run();
  } else {
    registers_up<layout.value_groups == 1 ? 240 : 168>();
    StateGroup(p, block, group - 2).run();
  }
}
