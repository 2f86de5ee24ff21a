#pragma once
// The decays of a block of flash_decoding_sm90. One query stands at the last key, so the bias of a
// key is the sum of the log decays after it. In an item biases are relative to the end of its keys;
// the merge adds what all later parts decay. Nothing is ever subtracted, so resets (-inf) need no
// care.
//
// How far back the query has to look: it gives its own key, the last one, the weight of their
// product, whatever the decays are. Values of keys whose weights add up to less than 2^-bits of
// that are not needed. Log decays are not above 0, so the last `window` of them bound what lies
// between an item's keys and the query. Which keys have such weights is only known once their
// products with the query are, because a far key may be as large as it likes: keys are read unless
// a reset lies in the window. Whether a tile's values are copied is a guess, that keys are not much
// larger than the last one. A warp that needs values that were not copied reads them itself
// (consumer.cuh), so results do not depend on the guess.
//
// The numbers of a row (log2):
//   later   sum of the window's log decays after the item's keys
//   least   the least logit that matters, relative to the end of the item's keys
//   guess   the least offset of a tile whose values are copied

#include "softmax_attention/decoding/consumer.cuh"

namespace gla_bench::softmax_attention::decoding {

/// Outputs in 16 bits show nothing below 2^-12.
constexpr float bits = 24.0f;
/// By how much the products of copied tiles may exceed the product of the norms of the query and
/// the last key.
constexpr float guessed = 1.25f;
constexpr int window = 1024;

__device__ __forceinline__ float sum_of_warp(float x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

/// The log decays (log2) of some keys in all rows. All loads are on their way together.
template <int keys>
__device__ __forceinline__ void load_decays(const Item& item, const int (&key)[keys],
                                            float (&decays)[biased_rows][keys]) {
  gate_t raw[biased_rows][keys] = {};
  if constexpr (trait::decay == 2)
#pragma unroll
    for (int i = 0; i < keys; ++i)
#pragma unroll
      for (int row = 0; row < biased_rows; ++row) raw[row][i] = item.raw_decay(row, key[i]);
#pragma unroll
  for (int row = 0; row < biased_rows; ++row)
#pragma unroll
    for (int i = 0; i < keys; ++i) decays[row][i] = item.decay(row, key[i], raw[row][i]);
}

/// Adds up the window's log decays after the item's keys. Runs on the whole block.
__device__ __forceinline__ void sum_window(const Item& item, const Memory& memory) {
  constexpr int each = (window + layout.threads - 1) / layout.threads;
  const int keys = static_cast<int>(item.p.key_seq), end = item.end_key;
  const int begin = end > keys - window ? end : keys - window;
  if (begin >= keys) return;
  int key[each];
#pragma unroll
  for (int i = 0; i < each; ++i)
    key[i] = begin + static_cast<int>(threadIdx.x) + i * layout.threads;
  float decays[biased_rows][each];
  load_decays(item, key, decays);
#pragma unroll
  for (int row = 0; row < biased_rows; ++row) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < each; ++i) sum += decays[row][i];
    sum = sum_of_warp(sum);
    if (lane() == 0) atomicAdd(&memory.later(row), sum);
  }
}

/// Runs on one warp.
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
  const float least = product - bits - log2f(static_cast<float>(p.key_seq)) - memory.later(row);
  if (lane() == 0) {
    memory.least(row) = least;
    memory.guess(row) = least - guessed * largest;
  }
}

/// Whether a row sees keys of the item.
__device__ __forceinline__ bool sees_any(const Item& item, const Memory& memory) {
  if constexpr (!biased) return true;
  bool any = false;
  for (int row = 0; row < item.rows; ++row)
    any = any || memory.later(row) > device::minus_infinity();
  return any;
}

/// Writes the biases of all tiles. A tile is one warp's work; lanes have neighbouring keys.
__device__ __forceinline__ void write_biases(const Item& item, const Memory& memory) {
  constexpr int each = block_n / 32;
  for (int step = warp() - layout.warps - 1; step < item.tiles; step += layout.bias_warps) {
    int key[each];
#pragma unroll
    for (int i = 0; i < each; ++i)
      key[i] = item.first_key + (item.tiles - 1 - step) * block_n + lane() * each + i;
    float decays[biased_rows][each];
    load_decays(item, key, decays);
    if (step >= stages) barrier_wait(memory.free(step), memory.parity(step) ^ 1u);
#pragma unroll
    for (int row = 0; row < biased_rows; ++row) {
      float own[each], sum = 0.0f;
#pragma unroll
      for (int i = each - 1; i >= 0; --i) own[i] = sum, sum += decays[row][i];
      float from_here = sum;  // this lane's keys and all later ones
#pragma unroll
      for (int n = 1; n < 32; n *= 2) {
        const float other = __shfl_down_sync(0xffffffffu, from_here, n);
        if (lane() + n < 32) from_here += other;
      }
      const float others = __shfl_down_sync(0xffffffffu, from_here, 1);
      const float after = lane() == 31 ? 0.0f : others;
      float* biases = memory.biases(step, row) + lane() * each;
#pragma unroll
      for (int i = 0; i < each; i += 2)
        device::store_pair(biases + i, own[i] + after, own[i + 1] + after);
      if (lane() == 0) memory.total(row, step) = from_here;
    }
    barrier_arrive(memory.biases_arrived(step));
  }
}

/// Writes what the item's keys decay, for the merge. An item whose keys are not seen may write 0:
/// a later one has the reset that hides them.
__device__ __forceinline__ void write_decays(const Item& item, const Consumer& consumer) {
  if (item.part < 0 || warp() != 0 || lane() % 4 != 0) return;
#pragma unroll
  for (int h = 0; h < 2; ++h)
    if (Consumer::row(h) < item.rows)
      Parts{item.p}.decays()[item.part * layout.rows + Consumer::row(h)] = consumer.offset[h];
}

}  // namespace gla_bench::softmax_attention::decoding
