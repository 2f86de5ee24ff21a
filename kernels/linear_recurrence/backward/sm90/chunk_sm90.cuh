// The backward of chunk_sm90 for sm_90a: bulk copies, warps with roles and wgmma, with the gradient
// of the state in registers.
//
// Idea: two walks over a sequence in chunks of 64 tokens. The first, forwards, keeps the state
// before each chunk in bfloat16 (states.cuh). The second, backwards, holds the gradient of the
// state in float32 and computes all gradients of a chunk at once (walk.cuh). In both, one
// warpgroup loads up to tile::stages chunks ahead, and each of one or two others owns 64 keys. A
// warp has 16 keys of all 64 tokens, so the sums of the decays over tokens, forwards, and of their
// gradients, backwards, stay within a warp. Gradients take the places of the tiles that they belong
// to in shared memory and leave by bulk copies.
//
// Grid: one block for each sequence and head. Shared memory: layout.h.
//
// Bytes moved: k, gates and v once more than the second walk reads them, the states written and
// read once (2 K V bytes each 64 tokens); q, k, gates, v, do; dq, dk, dv and the gates' gradients.

#include "linear_recurrence/backward/sm90/key_decays.cuh"
#include "linear_recurrence/backward/sm90/scalar_decays.cuh"
#include "linear_recurrence/backward/sm90/states.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// Registers of a thread that loads, and of one that multiplies.
inline constexpr int loading_registers = 24, multiplying_registers = 240;

using Walk = device::Choice<key_gates, KeyWalk, ScalarWalk>::type;

template <bool states_only, class Walker>
__device__ __forceinline__ void run(const GradientSm90Params& p) {
  extern __shared__ unsigned char memory[];
  const Block<states_only> block(p.base, memory);
  if (threadIdx.x == 0) block.init_barriers();
  __syncthreads();
  if (group() < 0) {
    registers_down<loading_registers>();
    if (threadIdx.x == 0) move_tiles<states_only>(p, block);
    if (token_gates && threadIdx.x / 32 == 1) load_token_gates<states_only>(p, block);
  } else {
    if constexpr (groups > 1) registers_up<multiplying_registers>();
    Walker(p, block).run();
  }
}

}  // namespace gla_bench::linear_recurrence::backward::sm90

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::sm90::layout.threads, 1)
    chunk_sm90_keep_states(const __grid_constant__
                               gla_bench::linear_recurrence::backward::sm90::GradientSm90Params p) {
  using namespace gla_bench::linear_recurrence::backward::sm90;
  run<true, StateKeeper>(p);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::linear_recurrence::backward::sm90::layout.threads, 1)
    chunk_sm90_gradients(const __grid_constant__
                             gla_bench::linear_recurrence::backward::sm90::GradientSm90Params p) {
  using namespace gla_bench::linear_recurrence::backward::sm90;
  run<false, Walk>(p);
}

/// Adds up what the blocks of a head have left of du.
extern "C" __global__ void __launch_bounds__(gla_bench::linear_recurrence::backward::sum_threads)
    chunk_sm90_sums(const __grid_constant__
                        gla_bench::linear_recurrence::backward::sm90::GradientSm90Params p) {
  if constexpr (trait::before_update != 0)
    gla_bench::linear_recurrence::backward::store_head_sum(p.base);
}
