// flash_sm90, the backward pass for sm_90a, with bulk tensor copies, warps with roles and wgmma.
//
// Idea: a block owns 128 keys and their values, which stay in shared memory, and walks over the
// queries that see them, tile::block_m a step. One warpgroup loads (load.cuh). Two more have 64
// keys each (consume.cuh): they recompute P from lse, form dS = P (.) (dP - D), and keep dk and dv
// in registers, over all query heads that share the key head. With more than 128 columns of keys or
// values, a block owns 64 keys, both warpgroups have all of them and form the same scores, and each
// keeps its share of the columns of dk and dv: seven products in place of five, but sums that fit,
// and nothing to wait for between the two but dS of dq. Products are as wide as their columns,
// rounded up to a width that there is, and not to whole panels. Where the widths of the two
// warpgroups differ, each runs code of its own. Each step's part of dq is added to float32 sums in
// device memory, and rounded at the end. The order varies, or is that of the keys (ordered.cuh), so
// that results are bitwise repeatable. Where a block has all keys of its head, its part is all of
// dq, and is stored as such. Where there are fewer blocks of keys than multiprocessors, several
// divide the steps of the same keys among them, and their sums of dk and dv are added up at the end
// as well (results.cuh).
//
// With a decay, first_tiles.cuh first finds how far back queries look, and a block ends its walk
// where no later query looks back to its keys. The exponent of P contains a bias of the key,
// relative to the block's last key, one of the query, relative to its step's first query
// (queries.cuh), and what lies between the two. Near the diagonal, where biases lie far apart,
// their difference is formed for each pair. The gradient of the decay comes from sums of dS over
// the queries of each key and over the keys of each query (backward/sums.cuh).
//
// Grid: batch * key heads * ceil(Tk / 128 or 64) blocks times the parts of their steps, 16 heads at
// a time, and of these the first keys first. Shared memory: layout.h. Bytes moved: k and v once; q
// and do once for each block that meets them, mostly from the L2 cache; the sums of dq are zeroed,
// added to with 4 K bytes for each query and block, and read; those of dk and dv are written and
// read where several blocks have the same keys. A kernel before reads o and do once, forms D,
// writes it with lse in the order of steps, and zeroes the sums of dq. One after rounds sums.

#include "softmax_attention/sm90/backward/consume.cuh"
#include "softmax_attention/sm90/backward/load.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// Registers of a thread that loads, and of one that multiplies.
inline constexpr int loading_registers = biased ? 40 : 24;
inline constexpr int multiplying_registers = biased ? 232 : 240;

}  // namespace gla_bench::softmax_attention::sm90

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::sm90::layout.threads, 1)
    flash_sm90_backward(
        const __grid_constant__ gla_bench::softmax_attention::sm90::BackwardSm90Params p) {
  using namespace gla_bench::softmax_attention::sm90;
  extern __shared__ unsigned char shared[];
  const Memory memory(shared);
  if (threadIdx.x == 0) memory.init_barriers();
  __syncthreads();
  if (group() < 0) {
    registers_down<loading_registers>();
    if (threadIdx.x / 32 == 0) {
      load_tiles(p, memory);
      let_next_begin();
    }
    if constexpr (ordered)
      if (threadIdx.x / 32 == 1) add_in_order(p.base, memory);
  } else {
    registers_up<multiplying_registers>();
    if (layout.alike || group() == 0)
      Consumer<0>(p, memory).run();
    else
      Consumer<1>(p, memory).run();
  }
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::softmax_attention::sm90::layout.side_threads)
    flash_sm90_backward_queries(
        const __grid_constant__ gla_bench::softmax_attention::sm90::BackwardSm90Params p) {
  gla_bench::device::sm90::let_next_begin();
  gla_bench::softmax_attention::sm90::write_record(p.base);
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::softmax_attention::sm90::layout.side_threads)
    flash_sm90_backward_round(
        const __grid_constant__ gla_bench::softmax_attention::sm90::BackwardSm90Params p) {
  gla_bench::device::sm90::wait_for_launch_before();
  gla_bench::softmax_attention::sm90::round_sums(p.base);
}
