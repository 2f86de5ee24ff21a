// flash_decoding_sm90: attention for few queries and many keys on sm_90a. The keys of a row are
// split over several blocks.
//
// Idea: the keys and values of a key head are read once for the queries of all heads of its group,
// by bulk tensor copies into a ring of stages that one thread keeps filled (block.cuh). The other
// warps each multiply the rows with keys of their own, and meet only at the end (consumer.cuh).
// Rows stay in registers, or in shared memory where K and V leave no room for them there. Every
// block leaves a part in the workspace. A second launch, which begins while the first runs,
// merges the parts of a row (flash/parts.cuh).
//
// With a decay there is one query, at the last key (reach.cuh). Further warps form the biases of
// tiles. A block finds out how far back its rows look: keys behind a reset are not read, and the
// values of keys whose weights cannot be seen are not read either.
//
// Grid: batch * splits * key heads * tiles of rows blocks, with tiles of rows fastest and then key
// heads: heads' rows lie side by side, and what memory hands out at a time has parts of several
// where rows are no multiple of 128 bytes. For the merge, one block for each row. Shared memory:
// layout.h. Workspace: the parts, and with a decay 4 bytes for each split and row. Bytes moved: q
// once per split, k once, v once or, with a decay, as far as it is needed; log decays once; the
// parts written once and read once.

#include "softmax_attention/decoding/consumer.cuh"
#include "softmax_attention/decoding/reach.cuh"

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::decoding::layout.threads)
    decoding_split(
        const __grid_constant__ gla_bench::softmax_attention::decoding::DecodingParams p) {
  using namespace gla_bench::softmax_attention::decoding;
  extern __shared__ unsigned char unaligned[];
  const Memory memory(unaligned);
  const Item item(p.base);
  let_next_begin();
  const bool loads = threadIdx.x == 32 * layout.warps;
  const Loader loader{p, item, memory};
  if (loads) {
    memory.init();
    loader.start();
  }
  __syncthreads();
  if constexpr (biased) {
    sum_window(item, memory);
    __syncthreads();
    for (int row = warp(); row < item.rows; row += layout.threads / 32)
      find_reach(item, memory, row);
    __syncthreads();
  }
  const bool any = sees_any(item, memory);
  if (warp() < layout.warps) {
    Consumer consumer(item, memory);
    if (any) consumer.run();
    __syncthreads();  // all tiles have been read
    if constexpr (biased) write_decays(item, memory, any);
    __syncthreads();  // and all totals
    consumer.put_part();
  } else {
    if (loads) loader.run(any);
    if constexpr (biased)
      if (warp() > layout.warps && any) write_biases(item, memory);
    __syncwarp();
    __syncthreads();
    __syncthreads();
  }
  __syncthreads();
  write_parts(item, memory);
}

extern "C" __global__ void __launch_bounds__(32 *
                                             gla_bench::softmax_attention::decoding::Merge::warps)
    decoding_merge(
        const __grid_constant__ gla_bench::softmax_attention::decoding::DecodingParams p) {
  using namespace gla_bench::softmax_attention::decoding;
  __shared__ float shares[Merge::warps][dim::value_dim];
  const int splits = static_cast<int>((p.base.key_seq + tile::split - 1) / tile::split);
  wait_for_launch_before();
  const Merge merge{p.base, blockIdx.x, splits};
  if constexpr (biased) add_later_decays(merge);
  merge.run(shares);
}
