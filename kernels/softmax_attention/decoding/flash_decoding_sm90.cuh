// flash_decoding_sm90: attention for few queries and many keys on sm_90a. The keys of a row are
// split over several blocks.
//
// Idea: the keys and values of a key head are read once for the queries of all heads of its group,
// by bulk tensor copies into a ring of stages that one thread keeps filled (block.cuh). The other
// warps each multiply the rows with keys of their own, and meet only at the end (consumer.cuh).
// Every block leaves a part in the workspace. A second launch, which begins while the first runs,
// merges the parts of a row (flash/parts.cuh).
//
// With a decay there is one query, at the last key. A launch before the others sums the log decays
// up (decay_tiles.cuh). A block then finds out how far back its rows look (reach.cuh): keys behind
// a reset are not read, and the values of keys whose weights cannot be seen are not read either.
//
// Grid: batch * key heads * tiles of rows * splits blocks, with splits fastest; for the merge, one
// block for each row. Shared memory: layout.h. Workspace: the two regions of decay_tiles.cuh with a
// decay, then the parts. Bytes moved: q once per split, k once, v once or, with a decay, as far as
// it is needed; the parts written once and read once; with a decay, the log decays once, and 4
// bytes for each key and query head written once and read once.

#include "softmax_attention/decoding/consumer.cuh"
#include "softmax_attention/decoding/decay_tiles.cuh"
#include "softmax_attention/decoding/reach.cuh"

extern "C" __global__ void __launch_bounds__(
    gla_bench::softmax_attention::decoding::DecayTiles::threads)
    decoding_decays(
        const __grid_constant__ gla_bench::softmax_attention::decoding::DecodingParams p) {
  using namespace gla_bench::softmax_attention::decoding;
  __shared__ DecayTiles::Decays decays;
  let_next_begin();
  if constexpr (biased) DecayTiles{p.base}.run(decays);
}

extern "C" __global__ void __launch_bounds__(gla_bench::softmax_attention::decoding::layout.threads)
    decoding_split(
        const __grid_constant__ gla_bench::softmax_attention::decoding::DecodingParams p) {
  using namespace gla_bench::softmax_attention::decoding;
  extern __shared__ unsigned char unaligned[];
  const Memory memory(unaligned);
  const Item item(p.base);
  let_next_begin();
  if (threadIdx.x == 0) memory.init();
  __syncthreads();
  int steps = item.tiles, steps_with_values = item.tiles;
  if constexpr (biased) {
    wait_for_launch_before();
    for (int row = warp(); row < item.rows; row += layout.threads / 32)
      find_reach(item, memory, row);
    __syncthreads();
    steps = memory.needed()[0];
    steps_with_values = memory.needed()[1];
  }
  if (warp() == layout.warps) {
    if (lane() == 0) load_tiles(p, item, memory, steps, steps_with_values);
    __syncwarp();
    __syncthreads();
  } else {
    Consumer consumer(item, memory);
    consumer.run(steps, steps_with_values);
    __syncthreads();  // all tiles have been read
    consumer.put_part();
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
  Merge{p.base, blockIdx.x, splits}.run(shares);
}
