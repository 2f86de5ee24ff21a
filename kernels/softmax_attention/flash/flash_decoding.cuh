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
// Grid: batch * key heads (heads with a decay) * tiles of rows * splits blocks, with splits
// fastest; for the merge, one block for each row. Shared memory: see layout.h. Workspace: the two
// regions of decay attention, then outputs [splits, B, T, H, V] and log-sums [splits, B, T, H]
// (log2), both float32. Bytes moved: q once per split, k and v once, the parts written once and
// read once.

#include "softmax_attention/decay_sums.cuh"
#include "softmax_attention/flash/walk.cuh"

namespace gla_bench::softmax_attention::flash_decoding {

constexpr bool packed = trait::decay == 0 && trait::group > 1;
constexpr int group = packed ? trait::group : 1;
constexpr int first_region = trait::decay == 0 ? 0 : 2;
using Walk = FlashWalk<FlashBlock<tile::terms, tile::block_m, tile::block_n, launch::warps_m,
                                  launch::warps_n, tile::stages, packed>>;
static_assert(Walk::layout.bytes == launch::shared_bytes);

__device__ __forceinline__ float* outputs(const AttentionParams& p) {
  return static_cast<float*>(p.work[first_region]);
}
__device__ __forceinline__ float* log_sums(const AttentionParams& p) {
  return static_cast<float*>(p.work[first_region + 1]);
}

/// Writes the rows of a split's part.
struct Part {
  const AttentionParams& p;
  long long split;

  /// The index of a row in [splits, B, T, H].
  __device__ __forceinline__ long long at(const FlashRange& range, int row) const {
    const long long query = (range.first_row + row) / group,
                    member = (range.first_row + row) % group;
    return ((split * p.batch + range.batch) * p.seq + query) * p.heads + range.head + member;
  }
  __device__ __forceinline__ float* row(const FlashRange& range, int row) const {
    return outputs(p) + at(range, row) * dim::value_dim;
  }
  __device__ __forceinline__ void log_sum(const FlashRange& range, int row, float log2_sum) const {
    log_sums(p)[at(range, row)] = log2_sum;
  }
};

/// Merges one row's parts. The warps of a block take splits in turn. A part that saw no key holds
/// zeros and gets a weight of zero, so it needs no special case.
struct Merge {
  static constexpr int warps = 4;

  const AttentionParams& p;
  long long row;  // index in [B, T, H]
  int splits;

  __device__ __forceinline__ long long part(int split) const {
    return split * (p.batch * p.seq * p.heads) + row;
  }
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  static __device__ __forceinline__ int warp() { return static_cast<int>(threadIdx.x) / 32; }

  /// The largest log-sum of the parts; 0 where no part saw a key.
  __device__ __forceinline__ float top() const {
    float largest = device::minus_infinity();
    for (int n = lane(); n < splits; n += 32) largest = fmaxf(largest, log_sums(p)[part(n)]);
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
    return largest == device::minus_infinity() ? 0.0f : largest;
  }
  __device__ __forceinline__ float total(float base) const {
    float sum = 0.0f;
    for (int n = lane(); n < splits; n += 32) sum += device::exp2_fast(log_sums(p)[part(n)] - base);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    return sum;
  }
  /// The warp's contribution to one column, before the division.
  __device__ __forceinline__ float column(int at, float base) const {
    float sum = 0.0f;
#pragma unroll 8
    for (int n = warp(); n < splits; n += warps)
      sum += device::exp2_fast(log_sums(p)[part(n)] - base) *
             outputs(p)[part(n) * dim::value_dim + at];
    return sum;
  }
  __device__ __forceinline__ void run(float (&shares)[warps][dim::value_dim]) const {
    const float base = top(), sum = total(base), inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
    for (int at = lane(); at < dim::value_dim; at += 32) shares[warp()][at] = column(at, base);
    __syncthreads();
    const long long head = row % p.heads, query = row / p.heads % p.seq,
                    batch = row / p.heads / p.seq;
    io_t* o = static_cast<io_t*>(p.o) + batch * p.output_strides.batch +
              head * p.output_strides.heads + query * p.output_strides.seq;
    for (int at = threadIdx.x; at < dim::value_dim; at += 32 * warps) {
      float all = 0.0f;
#pragma unroll
      for (int w = 0; w < warps; ++w) all += shares[w][at];
      o[at] = device::from_float<io_t>(inverse * all);
    }
    if constexpr (trait::lse != 0)
      if (threadIdx.x == 0)
        p.lse[batch * p.lse_strides.batch + head * p.lse_strides.heads +
              query * p.lse_strides.seq] =
            sum == 0.0f ? device::minus_infinity() : (base + log2f(sum)) * device::ln_2;
  }
};

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
  const long long end = first_key + tile::split;
  const FlashRange range = {
      sequence / owners,    head / trait::group, head,
      rows * tile::block_m, first_key,           end < p.key_seq ? end : p.key_seq};
  flash_decoding::Walk walk(p, range, shared);
  constexpr FlashMode mode = launch::fixed != 0 ? FlashMode::fixed : FlashMode::defer;
  walk.run<mode>(flash_decoding::Part{p, split}, launch::reference);
}

extern "C" __global__ void __launch_bounds__(
    32 * gla_bench::softmax_attention::flash_decoding::Merge::warps)
    attention_merge(const __grid_constant__ gla_bench::AttentionParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ float shares[flash_decoding::Merge::warps][dim::value_dim];
  const int splits = static_cast<int>((p.key_seq + tile::split - 1) / tile::split);
  flash_decoding::Merge{p, blockIdx.x, splits}.run(shares);
}
