// flash_sm90: attention for sm_90a, with bulk tensor copies, warps with roles and wgmma.
//
// Idea: a block has one warpgroup that loads and two or three that multiply, each with 64 queries.
// One thread has tiles of keys and values copied into a ring of stages as they become free
// (load.cuh). A consumer (attend.cuh) multiplies its queries with a tile of keys, turns the scores
// in its registers into weights (weights.cuh), and multiplies these, still in registers, with the
// tile of values. With tile::overlap, the scores of the next tile are formed while the weights of
// this one are computed. With tile::ping_pong, consumers take turns: one computes weights while
// another one multiplies. Blocks stay for several items (items.cuh), so that the first tiles of the
// next item arrive while outputs are written. FlashAttention-3 (arXiv 2407.08608) describes these
// means.
//
// With a decay, first_tiles.cuh first finds how far back each item has to look, and forms a bias
// for each key, which is copied beside the tile (key_biases.cuh). Items in which nothing decays are
// walked over like those of attention, because biases take registers and time.
//
// Where items are fewer than multiprocessors, several have the same queries, each with a part of
// their keys, and a second launch merges what they leave (merge.cuh).
//
// Grid: as many blocks as the launch asks for, one for each multiprocessor or one for each item.
// Shared memory: layout.h. Bytes moved: q, k and v are read once (each item reads k and v again,
// through the L2 cache); o and lse are written once. A decay reads k and q once more and writes and
// reads the sums and biases, 20 bytes for each key and query head. Of divided items each part of a
// row writes and reads 4 V + 4 bytes.

#include "softmax_attention/sm90/attend.cuh"
#include "softmax_attention/sm90/load.cuh"
#include "softmax_attention/sm90/merge.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// Registers of a thread that loads, and of one that multiplies.
inline constexpr int loading_registers = consumers == 3 ? 32 : 24;
inline constexpr int multiplying_registers = consumers == 3 ? 160 : 240;

}  // namespace gla_bench::softmax_attention::sm90

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::sm90::layout.threads, 1)
    flash_sm90(const __grid_constant__ gla_bench::softmax_attention::sm90::FlashSm90Params p) {
  using namespace gla_bench::softmax_attention::sm90;
  extern __shared__ unsigned char shared[];
  const Memory memory(shared);
  if (threadIdx.x == 0) memory.init_barriers();
  __syncthreads();
  if (group() < 0) {
    registers_down<loading_registers>();
    if (threadIdx.x == 0) {
      load_tiles(p, memory);
      if constexpr (divided) let_next_begin();
    }
  } else {
    registers_up<multiplying_registers>();
    Consumer(p, memory).run();
  }
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::sm90::merge_threads)
    flash_sm90_merge(
        const __grid_constant__ gla_bench::softmax_attention::sm90::FlashSm90Params p) {
  using namespace gla_bench::softmax_attention::sm90;
  if constexpr (divided) {
    wait_for_launch_before();
    merge_parts(p.base);
  }
}
