#pragma once
// How far back the one query of decay attention has to look, in a block of flash_decoding_sm90.
//
// A query gives its own key, the last one, the weight of their product, whatever the decays are.
// Values of keys whose weights add up to less than 2^-bits of that are not needed. Which these are
// is only known once their products with the query are, because a far key may be as large as it
// likes: keys are read unless a reset lies after them. Whether a tile's values are copied ahead is
// a guess, that keys are not much larger than the last one. A warp that needs values that were not
// copied reads them itself (consumer.cuh), so results do not depend on the guess.

#include "softmax_attention/decoding/block.cuh"

namespace gla_bench::softmax_attention::decoding {

/// Outputs in 16 bits show nothing below 2^-12.
constexpr float bits = 24.0f;
/// By how much the products of copied tiles may exceed the product of the norms of the query and
/// the last key.
constexpr float guessed = 1.25f;

__device__ __forceinline__ float sum_of_warp(float x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

/// For one row. Runs on one warp.
__device__ __forceinline__ void find_reach(const Item& item, const Memory& memory, int row) {
  const AttentionParams& p = item.p;
  const io_t *q = item.q(row), *k = item.k(p.key_seq - 1);
  float product = 0.0f, query = 0.0f, key = 0.0f;
  for (int i = lane(); i < dim::key_dim; i += 32) {
    const float a = device::to_float(q[i]), b = device::to_float(k[i]);
    product = fmaf(a, b, product), query = fmaf(a, a, query), key = fmaf(b, b, key);
  }
  const float factor = p.scale * device::log2_e;
  product = sum_of_warp(product) * factor;
  const float largest = sqrtf(sum_of_warp(query)) * sqrtf(sum_of_warp(key)) * factor;
  const float floor = product - bits - log2f(static_cast<float>(p.key_seq));
  if (lane() == 0) memory.floor(row) = floor;

  const int all = static_cast<int>((p.key_seq + block_n - 1) / block_n);
  const int end = item.first_key / block_n + item.tiles;
  const float* totals = static_cast<const float*>(p.work[work_totals]) +
                        (item.batch * p.heads + item.head(row)) * all;
  float later = 0.0f;
  for (int tile = end + lane(); tile < all; tile += 32) later += totals[tile];
  later = sum_of_warp(later);
  int steps = 0, steps_with_values = 0;
  for (int first = 0; first < item.tiles; first += 32) {
    const int step = first + lane();
    const float own = step < item.tiles ? totals[end - 1 - step] : 0.0f;
    float through = own;  // this tile and those of earlier steps
#pragma unroll
    for (int n = 1; n < 32; n *= 2) {
      const float other = __shfl_up_sync(0xffffffffu, through, n);
      if (lane() >= n) through += other;
    }
    float before = __shfl_up_sync(0xffffffffu, through, 1);
    if (lane() == 0) before = 0.0f;
    const float offset = later + before;
    later += __shfl_sync(0xffffffffu, through, 31);
    if (step < item.tiles) {
      memory.offset(row, step) = offset;
      if (offset > device::minus_infinity()) steps = step + 1;
      if (offset + guessed * largest >= floor) steps_with_values = step + 1;
    }
  }
  atomicMax(memory.needed(), steps);
  atomicMax(memory.needed() + 1, steps_with_values < steps ? steps_with_values : steps);
}

}  // namespace gla_bench::softmax_attention::decoding
