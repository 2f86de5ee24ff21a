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
// More than 128 keys or columns of V: a block has a slice of up to 128 keys and one of up to 128
// columns. The state of a pair of slices depends on no other pair, and all gradients are sums over
// the pairs of slices that they have part in. With two slices of the keys, or of V, the walk back
// is two launches. The blocks of the first one store their terms of dq, dk and dv, those of the
// second one add to them in device memory: dq and dk as they are stored, in bfloat16, the gradients
// of the keys' decays in float32. Each sum has two terms, so that no order changes it. Gradients of
// decays per token have terms of up to four blocks, which are added up at last.
//
// Grid: one block for each sequence, head, segment and pair of slices; in the walk back, half as
// many in each of two launches. Shared memory: layout.h.
//
// As the backward of training it takes the states that the forward has kept
// (linear_recurrence/sm90/keep.cuh), and the walk that keeps them is left out. What segments add to
// states is not asked for then.
//
// Bytes moved: k, gates and v once more than the second walk reads them, the states written and
// read once (2 K V bytes each 64 tokens); q, k, gates, v, do; dq, dk, dv and the gates' gradients.
// With segments, q, k, gates, v and do once more, and for each segment 8 K V bytes written and read
// by the other segments of the sequence. With two slices of V, the walk back reads q, k and gates
// twice, and reads and writes dq, dk and the gates' gradients once more; with two of the keys it
// does so with v, do and dv.

#include "linear_recurrence/backward/sm90/key_decays.cuh"
#include "linear_recurrence/backward/sm90/scalar_decays.cuh"
#include "linear_recurrence/backward/sm90/states.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// Registers of a thread that loads, and of one that multiplies.
inline constexpr int loading_registers = 24, multiplying_registers = 240;

using Walk = device::Choice<key_gates, KeyWalk, ScalarWalk>::type;

/// `round`: number of the walk's launch.
template <Pass pass, class Walker>
__device__ __forceinline__ void run(const GradientSm90Params& p, int round = 0) {
  extern __shared__ unsigned char memory[];
  const Block<pass> block(p.base, memory, round);
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

/// The walk back of the pairs of slices that are left.
extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::sm90::layout.threads, 1)
    chunk_sm90_more_gradients(
        const __grid_constant__ gla_bench::linear_recurrence::backward::sm90::GradientSm90Params
            p) {
  using namespace gla_bench::linear_recurrence::backward::sm90;
  if constexpr (layout.rounds > 1) run<Pass::gradients, Walk>(p, 1);
}

/// Adds up what the slices have left of the gradients of decays per token.
extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    chunk_sm90_gates(const __grid_constant__
                         gla_bench::linear_recurrence::backward::sm90::GradientSm90Params p) {
  using namespace gla_bench::linear_recurrence::backward;
  if constexpr (trait::decay == gla_bench::linear_recurrence::token_decay)
    store_token_gates(p.base);
}

/// Adds up what the blocks of a head have left of du, or of the gradient of a constant decay.
extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    chunk_sm90_sums(const __grid_constant__
                        gla_bench::linear_recurrence::backward::sm90::GradientSm90Params p) {
  if constexpr (trait::before_update != 0 ||
                trait::decay == gla_bench::linear_recurrence::head_decay) {
    // Sums of segments, and of du those of slices of V, lie behind one another, as if each were
    // sequences of their own.
    using namespace gla_bench::linear_recurrence::backward::sm90;
    gla_bench::GradientParams g = p.base;
    g.inputs.sequences *= segments * parts_of_sums;
    gla_bench::linear_recurrence::backward::store_head_sum(g);
  }
}
