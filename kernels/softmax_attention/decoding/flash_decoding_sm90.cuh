// flash_decoding_sm90: attention for few queries and many keys on sm_90a. The keys are divided
// evenly over the blocks, however many key heads there are.
//
// Idea: the keys and values of a key head are read once for the queries of all heads of its group,
// by bulk tensor copies into a ring of stages that one thread keeps filled (block.cuh). The other
// warps each multiply the rows with keys of their own, and meet only at the end (consumer.cuh).
// Rows stay in registers, or in shared memory where K and V leave no room for them there. All
// blocks are at work at the same time and have the same number of tiles (division.h). Where those
// end within a key head, the block leaves a part in the workspace. A second launch, which begins
// while the first runs, merges the parts of a row (merge.cuh).
//
// With a decay there is one query, at the last key (reach.cuh). Further warps form the biases of
// tiles. A block finds out how far back its rows look: keys behind a reset are not read, and the
// values of keys whose weights cannot be seen are not read either.
//
// Grid: as many blocks as fit on the multiprocessors, or fewer where keys are few. For the merge, a
// block for each row, or as many as are at work at the same time where rows are many. Shared
// memory: layout.h. Workspace: the parts, and with a decay 4 bytes for each row of them. Bytes
// moved: q once for each block that has keys of its head, k once, v once or, with a decay, as far
// as it is needed; log decays once; the parts written once and read once.

#include "softmax_attention/decoding/merge.cuh"
#include "softmax_attention/decoding/reach.cuh"

namespace gla_bench::softmax_attention::decoding {

__device__ __forceinline__ void attend(const DecodingParams& p, const Item& item,
                                       const Memory& memory) {
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
    if constexpr (biased) write_decays(item, consumer);
    consumer.put_part();
  } else {
    if (loads) loader.run(any);
    if constexpr (biased)
      if (warp() > layout.warps && any) write_biases(item, memory);
    __syncwarp();
    __syncthreads();
  }
  __syncthreads();
  write_rows(item, memory);
}

}  // namespace gla_bench::softmax_attention::decoding

extern "C" __global__ void __launch_bounds__(
    gla_bench::softmax_attention::decoding::layout.threads,
    gla_bench::softmax_attention::decoding::layout.blocks)
    decoding_divided(
        const __grid_constant__ gla_bench::softmax_attention::decoding::DecodingParams p) {
  using namespace gla_bench::softmax_attention;
  using namespace gla_bench::softmax_attention::decoding;
  extern __shared__ unsigned char unaligned[];
  const Memory memory(unaligned);
  let_next_begin();
  const DecodingDivision division = division_of(p.base);
  const int gang = static_cast<int>(blockIdx.x) / division.members;
  const int end = division.begin(gang + 1);
  for (int tile = division.begin(gang); tile < end;) {
    attend(p, Item(p.base, division, tile, end), memory);
    tile = (tile / division.tiles + 1) * division.tiles;
    if (tile >= end) break;
    publish_shared();  // copies of the next item come where parts were
    __syncthreads();
    if (threadIdx.x == 32 * layout.warps) memory.clear();
  }
}

extern "C" __global__ void __launch_bounds__(
    gla_bench::softmax_attention::DecodingLayout::merge_threads)
    decoding_merge(
        const __grid_constant__ gla_bench::softmax_attention::decoding::DecodingParams p) {
  using namespace gla_bench::softmax_attention;
  using namespace gla_bench::softmax_attention::decoding;
  __shared__ MergeMemory memory;
  const DecodingDivision division = division_of(p.base);
  if (division.most_parts() <= DecodingLayout::parts_at_once)
    merge_rows<MergeMemory::rows>(p.base, division, memory.of_warps);
  else
    merge_rows<1>(p.base, division, &memory.of_block);
}
