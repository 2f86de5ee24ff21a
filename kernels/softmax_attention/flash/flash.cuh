// flash1, flash2: attention in one launch, without storing scores in device memory.
//
// Idea: a block takes tile::block_m queries of a head and walks over the keys that they see
// (walk.cuh). launch::divide selects the variant. flash1 keeps its outputs divided by the running
// sum at every step. flash2 divides once, at the end. With a decay, two small kernels run first and
// form the sums that the bias comes from (decay_sums.cuh).
//
// Grid: batch * heads * ceil(T / block_m) blocks; of ragged batches slots * heads (ragged.cuh). The
// blocks of a head are neighbours in the grid,
// so they find its keys and values in the L2 cache. The last queries come first, because their
// causal walks are the longest. Shared memory: see layout.h. Bytes moved: q, k and v are read once
// (each block reads k and v again, through the L2 cache); o and lse are written once. A decay adds
// the sums, 16 bytes for each key and query head.

#include "softmax_attention/decay_sums.cuh"
#include "softmax_attention/flash/walk.cuh"

namespace gla_bench::softmax_attention::flash {

using Walk = FlashWalk<
    FlashBlock<tile::terms, tile::block_m, tile::block_n, tile::warps, 1, tile::stages, false>>;
static_assert(Walk::layout.bytes == launch::shared_bytes);

/// Writes rows of o and lse.
struct Results {
  const AttentionParams& p;

  __device__ __forceinline__ io_t* row(const FlashRange& range, int row) const {
    return static_cast<io_t*>(p.o) + range.batch * p.output_strides.batch +
           range.head * p.output_strides.heads + (range.first_row + row) * p.output_strides.seq;
  }
  __device__ __forceinline__ void log_sum(const FlashRange& range, int row, float log2_sum) const {
    if constexpr (trait::lse != 0)
      p.lse[range.batch * p.lse_strides.batch + range.head * p.lse_strides.heads +
            (range.first_row + row) * p.lse_strides.seq] = log2_sum * device::ln_2;
  }
};

}  // namespace gla_bench::softmax_attention::flash

// With the second bound a thread gets exactly 255 registers.
extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::flash::Walk::threads,
                                             launch::residency)
    attention_flash(const __grid_constant__ gla_bench::AttentionParams p) {
  using namespace gla_bench::softmax_attention;
  extern __shared__ __align__(128) unsigned char shared[];
  const Place place = place_of<tile::block_m>(p, blockIdx.x, p.heads, false);
  if (trait::ragged != 0 && !place.exists()) return;
  const auto& one = with_sums_of_sequence(p, place.sequence);
  const FlashRange range = {place.batch(),
                            place.head / trait::group,
                            place.head,
                            (place.blocks - 1 - place.block) * tile::block_m,
                            0,
                            one.key_seq};
  flash::Walk walk(one, range, shared);
  walk.run<launch::divide != 0 ? FlashMode::divide : FlashMode::defer>(flash::Results{one});
}
