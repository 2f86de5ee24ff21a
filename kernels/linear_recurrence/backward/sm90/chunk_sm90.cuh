// The backward of chunk_sm90 for sm_90a: bulk copies, warps with roles and wgmma, with the gradient
// of the state in registers.
//
// Idea: two walks over a sequence in chunks of 64 tokens. The first, forwards, keeps the state
// before each chunk in bfloat16 (states.cuh). The second, backwards, holds the gradient of the
// state in float32 and computes all gradients of a chunk at once (walk.cuh). In all walks, one
// warpgroup loads up to tile::stages chunks ahead, and each of one or two others owns 64 keys. A
// warp has 16 keys of all 64 tokens, so the sums of the decays over tokens, forwards, and of their
// gradients, backwards, stay within a warp. Gradients take the places of the tiles that they belong
// to in shared memory and leave by bulk copies.
//
// Few heads: with `segments` > 1 a sequence is cut into segments, whose walks run in parallel. A
// walk before the two forms what each segment adds to the state behind it and to the gradient of
// the state before it (segments.cuh). The two begin with what the segments before, or behind, make
// of the initial state, or of the final state's gradient.
//
// Grid: one block for each sequence, head and segment. Shared memory: layout.h.
//
// As the backward of training it takes the states that the forward has kept
// (linear_recurrence/sm90/keep.cuh), and the walk that keeps them is left out. What segments add to
// states is not asked for then.
//
// Bytes moved: k, gates and v once more than the second walk reads them, the states written and
// read once (2 K V bytes each 64 tokens); q, k, gates, v, do; dq, dk, dv and the gates' gradients.
// With segments, q, k, gates, v and do once more, and for each segment 8 K V bytes written and read
// by the other segments of the sequence.

#include "linear_recurrence/backward/sm90/key_decays.cuh"
#include "linear_recurrence/backward/sm90/scalar_decays.cuh"
#include "linear_recurrence/backward/sm90/states.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// Registers of a thread that loads, and of one that multiplies.
inline constexpr int loading_registers = 24, multiplying_registers = 240;

using Walk = device::Choice<key_gates, KeyWalk, ScalarWalk>::type;

template <Pass pass, class Walker>
__device__ __forceinline__ void run(const GradientSm90Params& p) {
  extern __shared__ unsigned char memory[];
  const Block<pass> block(p.base, memory);
  if (threadIdx.x == 0) block.init_barriers();
  __syncthreads();
  if (group() < 0) {
    registers_down<loading_registers>();
    if (threadIdx.x == 0) move_tiles<pass>(p, block);
    if (token_gates && threadIdx.x / 32 == 1) load_token_gates<pass>(p, block);
  } else {
    if constexpr (groups > 1) registers_up<multiplying_registers>();
    Walker(p, block).run();
  }
}

}  // namespace gla_bench::linear_recurrence::backward::sm90

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::sm90::layout.threads, 1)
    chunk_sm90_segments(const __grid_constant__
                            gla_bench::linear_recurrence::backward::sm90::GradientSm90Params p) {
  using namespace gla_bench::linear_recurrence::backward::sm90;
  constexpr Pass pass = states_given ? Pass::changes : Pass::segments;
  if constexpr (segments > 1) run<pass, SegmentSums<pass>>(p);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::sm90::layout.threads, 1)
    chunk_sm90_keep_states(const __grid_constant__
                               gla_bench::linear_recurrence::backward::sm90::GradientSm90Params p) {
  using namespace gla_bench::linear_recurrence::backward::sm90;
  run<Pass::states, StateKeeper>(p);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::sm90::layout.threads, 1)
    chunk_sm90_gradients(const __grid_constant__
                             gla_bench::linear_recurrence::backward::sm90::GradientSm90Params p) {
  using namespace gla_bench::linear_recurrence::backward::sm90;
  run<Pass::gradients, Walk>(p);
}

/// Adds up what the blocks of a head have left of du.
extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    chunk_sm90_sums(const __grid_constant__
                        gla_bench::linear_recurrence::backward::sm90::GradientSm90Params p) {
  if constexpr (trait::before_update != 0) {
    // Sums of segments lie one segment behind the other, as if each were sequences of its own.
    gla_bench::GradientParams g = p.base;
    g.inputs.sequences *= gla_bench::linear_recurrence::backward::sm90::segments;
    gla_bench::linear_recurrence::backward::store_head_sum(g);
  }
}
