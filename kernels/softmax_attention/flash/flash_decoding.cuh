// flash_decoding, flash_decoding_pp: attention for few queries and many keys. The keys of a row are
// split over several blocks.
//
// Idea: each block walks over tile::split keys (walk.cuh) and leaves its divided outputs and their
// log-sum-exp in the workspace. A second kernel merges the parts of a row by their log-sum-exps.
// Without a decay, a block takes the queries of all heads of a group, which share its keys. This
// way a few queries fill a tile of rows, and keys are read only once. Where there are fewer than 16
// rows for each warp, warps share the rows and divide the keys between them.
//
// flash_decoding_pp uses one fixed reference, launch::reference, for all rows instead of a running
// maximum. A block that has a row for which the fixed reference does not work repeats its walk with
// running references.
//
// Paged keys: a block works for its sequence as for a problem of its own (ragged.cuh). Splits
// behind the sequence's last key leave parts that weigh nothing.
//
// Grid: batch * key heads (heads with a decay) * tiles of rows * splits blocks, with splits
// fastest; for the merge, one block for each row. Shared memory: see layout.h. Workspace: the two
// regions of decay attention, then outputs [splits, B, T, H, V] and log-sums [splits, B, T, H]
// (log2), both float32. Bytes moved: q once per split, k and v once, the parts written once and
// read once; of paged keys the block table once for each of k and v.

#include "softmax_attention/decay_sums.cuh"
#include "softmax_attention/flash/parts.cuh"
#include "softmax_attention/flash/walk.cuh"

namespace gla_bench::softmax_attention::flash_decoding {

constexpr bool packed = trait::decay == 0 && trait::group > 1;
constexpr int group = packed ? trait::group : 1;
constexpr int first_region = trait::decay == 0 ? 0 : 2;
using Walk = FlashWalk<FlashBlock<tile::terms, tile::block_m, tile::block_n, launch::warps_m,
                                  launch::warps_n, tile::stages, packed>>;
static_assert(Walk::layout.bytes == launch::shared_bytes);

/// Writes the rows of a split's part.
struct Part {
  SplitParts<first_region> parts;
  long long split, batch;

  __device__ __forceinline__ long long at(const FlashRange& range, int row) const {
    const long long query = (range.first_row + row) / group,
                    member = (range.first_row + row) % group;
    return parts.at(split, batch, query, range.head + member);
  }
  __device__ __forceinline__ float* row(const FlashRange& range, int row) const {
    return parts.outputs() + at(range, row) * dim::value_dim;
  }
  __device__ __forceinline__ void log_sum(const FlashRange& range, int row, float log2_sum) const {
    parts.log_sums()[at(range, row)] = log2_sum;
  }
};

using Merge = SplitMerge<first_region>;

}  // namespace gla_bench::softmax_attention::flash_decoding

extern "C" __global__ void __launch_bounds__(
    gla_bench::softmax_attention::flash_decoding::Walk::threads, launch::residency)
    attention_split(const __grid_constant__ gla_bench::AttentionParams p) {
  using namespace gla_bench::softmax_attention;
  extern __shared__ __align__(128) unsigned char shared[];
  const long long splits = (p.key_seq + tile::split - 1) / tile::split;
  const long long tiles = (p.seq * flash_decoding::group + tile::block_m - 1) / tile::block_m;
  const long long split = blockIdx.x % splits, rows = blockIdx.x / splits % tiles;
  const long long sequence = blockIdx.x / splits / tiles, owners = p.heads / flash_decoding::group;
  const long long head = sequence % owners * flash_decoding::group, first_key = split * tile::split;
  const long long end = first_key + tile::split, batch = sequence / owners;
  const auto& one = with_sums_of_sequence(p, batch);
  const FlashRange range = {
      own_keys ? 0 : batch, head / trait::group, head,
      rows * tile::block_m, first_key,           end < one.key_seq ? end : one.key_seq};
  flash_decoding::Walk walk(one, range, shared);
  constexpr FlashMode mode = launch::fixed != 0 ? FlashMode::fixed : FlashMode::defer;
  walk.run<mode>(flash_decoding::Part{{p}, split, batch}, launch::reference);
}

extern "C" __global__ void __launch_bounds__(
    32 * gla_bench::softmax_attention::flash_decoding::Merge::warps)
    attention_merge(const __grid_constant__ gla_bench::AttentionParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ float shares[flash_decoding::Merge::warps][dim::value_dim];
  const int splits = static_cast<int>((p.key_seq + tile::split - 1) / tile::split);
  flash_decoding::Merge{p, blockIdx.x, splits}.run(shares);
}
