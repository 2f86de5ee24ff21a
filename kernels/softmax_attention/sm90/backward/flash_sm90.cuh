// flash_sm90, the backward pass for sm_90a, with bulk tensor copies, warps with roles and wgmma.
//
// Idea: a block owns 128 keys and their values, which stay in shared memory, and walks over the
// queries that see them, tile::block_m a step. One warpgroup loads (load.cuh). Two more have 64
// keys each (consume.cuh): they recompute P from lse, form dS = P (.) (dP - D), and keep dk and dv
// in registers, over all query heads that share the key head. With more than 128 columns of keys or
// values, a block owns 64 keys, both warpgroups have all of them and form the same scores, and each
// keeps half the columns of dk and dv: seven products in place of five, but sums that fit, and
// nothing to wait for between the two but dS of dq. Each step's part of dq is added to
// float32 sums in device memory, and rounded at the end. The order varies, or is that of the keys
// (ordered.cuh), so that results are bitwise repeatable.
//
// With a decay, first_tiles.cuh first finds how far back queries look, and a block ends its walk
// where no later query looks back to its keys. The exponent of P contains a bias of the key,
// relative to the block's last key, one of the query, relative to its step's first query
// (queries.cuh), and what lies between the two. Near the diagonal, where biases lie far apart,
// their difference is formed for each pair. The gradient of the decay comes from sums of dS over
// the queries of each key and over the keys of each query (backward/sums.cuh).
//
// Grid: batch * key heads * ceil(Tk / 128 or 64) blocks, 16 heads at a time, and of these the first
// keys first. Shared memory: layout.h. Bytes moved: k and v once; q and do once for each block that
// meets them, mostly from the L2 cache; the sums of dq are zeroed, added to with 4 K bytes for each
// query and block, and read. A kernel before forms D and reads o and do once, another brings it and
// lse into the order of steps; one after rounds dq.

#include "softmax_attention/sm90/backward/consume.cuh"
#include "softmax_attention/sm90/backward/load.cuh"

namespace gla_bench::softmax_attention::sm90 {

inline constexpr int round_threads = layout.round_threads;
/// Registers of a thread that loads, and of one that multiplies.
inline constexpr int loading_registers = biased ? 40 : 24;
inline constexpr int multiplying_registers = biased ? 232 : 240;

/// Rounds dq of one step from its sums, which lie as the consumers' threads had them. Rows pass
/// through shared memory, so that whole rows are written.
__device__ __forceinline__ void round_dq(const AttentionParams& p) {
  constexpr int each = 16 / static_cast<int>(sizeof(io_t)), packs = dim::key_dim / each;
  using Pack = device::Pack<io_t, each>;
  __shared__ __align__(16) io_t rows[block_m][layout.key_width + each];
  const int steps = static_cast<int>((p.seq + block_m - 1) / block_m);
  constexpr int eights = layout.dq_floats / 4;  // of columns that a consumer's thread has
  const int step = static_cast<int>(blockIdx.x) % steps;
  const long long sequence = blockIdx.x / steps;
  const auto* sums = static_cast<const float4*>(p.work[work::dq_sums]) +
                     1LL * blockIdx.x * (layout.step_floats / 4);
#pragma unroll
  for (int n = static_cast<int>(threadIdx.x); n < layout.step_floats / 4; n += round_threads) {
    const int thread = n % 128, group_of_eight = n / 128 % eights, consumer = n / 128 / eights;
    const int row = (layout.dq_by_columns ? 0 : consumer * 64) + thread / 32 * 16 + thread % 32 / 4;
    constexpr int second = layout.by_columns
                               ? (layout.key_panels - layout.own_key_panels) * layout.columns
                               : eights * 8;  // the first column of the second consumer
    const int column =
        (layout.dq_by_columns ? consumer * second : 0) + group_of_eight * 8 + thread % 4 * 2;
    // What the first consumer has as well it has rounded.
    if (layout.by_columns && consumer == 1 && column < layout.own_key_width) continue;
    const float4 sum = sums[n];
    device::store_pair(&rows[row][column], p.scale * sum.x, p.scale * sum.y);
    device::store_pair(&rows[row + 8][column], p.scale * sum.z, p.scale * sum.w);
  }
  __syncthreads();
  const TokenStrides& s = dq_strides(p);
  io_t* out = static_cast<io_t*>(p.dq) + sequence / p.heads * s.batch +
              sequence % p.heads * s.heads + 1LL * step * block_m * s.seq;
  for (int n = static_cast<int>(threadIdx.x); n < block_m * packs; n += round_threads) {
    const int row = n / packs, column = n % packs * each;
    if (1LL * step * block_m + row < p.seq)
      *reinterpret_cast<Pack*>(out + row * s.seq + column) =
          *reinterpret_cast<const Pack*>(&rows[row][column]);
  }
}

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
    if (threadIdx.x / 32 == 0) load_tiles(p, memory);
    if constexpr (ordered)
      if (threadIdx.x / 32 == 1) add_in_order(p.base, memory);
  } else {
    registers_up<multiplying_registers>();
    Consumer(p, memory).run();
  }
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::sm90::block_m)
    flash_sm90_backward_queries(
        const __grid_constant__ gla_bench::softmax_attention::sm90::BackwardSm90Params p) {
  gla_bench::softmax_attention::sm90::write_record(p.base);
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::sm90::round_threads)
    flash_sm90_backward_round(
        const __grid_constant__ gla_bench::softmax_attention::sm90::BackwardSm90Params p) {
  gla_bench::softmax_attention::sm90::round_dq(p.base);
}
