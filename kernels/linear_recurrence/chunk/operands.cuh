#pragma once
// The elementwise phases of a chunk walk with decays per key. They turn q, k and g into the
// operands of its products. Where outputs come before the update, q's decays exclude those of its
// own token (b - g). An item of work is a block of 8 tokens times 2 neighbouring keys. The threads
// deal the items out among themselves.

#include "linear_recurrence/chunk/walk_tiles.cuh"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence {

template <typename Tiles>
struct OperandPhase {
  using Ops = typename Tiles::Ops;
  using operand_t = typename Tiles::operand_t;
  static constexpr int threads = Tiles::threads, keys = Tiles::keys, key_ld = Tiles::key_ld;
  static constexpr int blocks = Tiles::chunk / 8, pairs = keys / 2, levels = Tiles::levels;
  static constexpr bool outputs = Tiles::outputs;

  const Tiles& tiles;
  const int rows;  ///< tokens of the chunk that exist

  /// Decay of each block of 8 tokens: e^(sum of its gates).
  __device__ __forceinline__ void sum_gates(int c) const {
    for (int item = threadIdx.x; item < blocks * pairs; item += threads) {
      const int block = item / pairs, key = item % pairs * 2;
      const gate_t* g = tiles.g_tile(c) + block * 8 * key_ld + key;
      float x = 0.0f, y = 0.0f;
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 gate = log2_gates(g + i * key_ld, block * 8 + i);
        x += gate.x;
        y += gate.y;
      }
      device::store_pair(tiles.block_decays() + block * keys + key, device::exp2_fast(x),
                         device::exp2_fast(y));
    }
  }

  /// Turns q, k and g of chunk c into the operands of its products. The two halves of a block meet
  /// in its middle. In the first half, e^(b_middle - b) is the product of decays from the token to
  /// the middle. In the second half, e^(b - b_middle) is the product from the middle to the token.
  __device__ __forceinline__ void form_operands(int c) const {
    for (int item = threadIdx.x; item < blocks * pairs; item += threads) {
      const int block = item / pairs, key = item % pairs * 2;
      const int at = block * 8 * key_ld + key;
      float2 e[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 gate = log2_gates(tiles.g_tile(c) + at + i * key_ld, block * 8 + i);
        e[i].x = device::exp2_fast(gate.x);
        e[i].y = device::exp2_fast(gate.y);
      }
      const float2 first = product(product(e[0], e[1]), product(e[2], e[3]));
      const float2 second = product(product(e[4], e[5]), product(e[6], e[7]));
      const BlockFactors f = block_factors(block, key);
      if (block == 0) store_decay(key, product(f.of_k, product(first, second)));
      const float2 one = {1.0f, 1.0f}, e23 = product(e[2], e[3]), e67 = product(e[6], e[7]);
      const float2 to_middle[4] = {product(e[1], e23), e23, e[3], one};
      const float2 to_end[4] = {product(e[5], e67), e67, e[7], one};
      float2 prefix = one;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 before = prefix;
        prefix = product(prefix, e[i]);
        const float2 inverse = to_middle[i], middle = i == 3 ? one : reciprocal(inverse);
        if constexpr (Tiles::bonus)
          form_token(c, f, at + i * key_ld, before, product(inverse, second),
                     i == 0 ? one : reciprocal(to_middle[i - 1]), inverse);
        else
          form_token(c, f, at + i * key_ld, prefix, product(inverse, second), middle, inverse);
      }
      prefix = one;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 before = prefix;
        prefix = product(prefix, e[4 + i]);
        const float2 of_q = Tiles::bonus ? before : prefix;
        form_token(c, f, at + (4 + i) * key_ld, product(first, of_q), to_end[i], of_q,
                   reciprocal(prefix));
      }
    }
  }

 private:
  /// Two neighbouring gates of a token in units of log2. Rows that do not exist are zeros. Zeros
  /// mean no decay, except where a gate is stored as w and means -e^w.
  __device__ __forceinline__ float2 log2_gates(const gate_t* at, int row) const {
    const float2 gate = device::load_pair(at);
    if (trait::raw_gate != 0 && row >= rows) return {0.0f, 0.0f};
    return {device::log2_gate(log_decay(gate.x)), device::log2_gate(log_decay(gate.y))};
  }

  /// Product of the decays of the 2^level blocks that are the sibling of `block`'s half at that
  /// level.
  __device__ __forceinline__ float2 sibling_decay(int block, int level, int key) const {
    const int count = 1 << level;
    const float* first = tiles.block_decays() + (((block >> level) ^ 1) << level) * keys + key;
    float2 product = device::load_pair(first);
#pragma unroll
    for (int i = 1; i < count; ++i) {
      const float2 next = device::load_pair(first + i * keys);
      product.x *= next.x;
      product.y *= next.y;
    }
    return product;
  }

  /// What a block of 8 tokens needs for 2 keys besides its gates. These are the decays of the
  /// blocks between it and the ends of what it meets, at each level and in the whole chunk, for q
  /// and for k.
  struct BlockFactors {
    int block;
    float2 of_q, of_k, of_level[levels];
  };

  __device__ __forceinline__ BlockFactors block_factors(int block, int key) const {
    BlockFactors f = {block, {1.0f, 1.0f}, {1.0f, 1.0f}, {}};
#pragma unroll
    for (int level = 0; level < levels; ++level) {
      const float2 between = sibling_decay(block, level, key);
      f.of_level[level] = odd(block, level) ? f.of_q : f.of_k;
      if (odd(block, level))
        f.of_q = product(f.of_q, between);
      else
        f.of_k = product(f.of_k, between);
    }
    return f;
  }

  __device__ __forceinline__ static bool odd(int block, int level) {
    return (block >> level & 1) != 0;
  }
  __device__ __forceinline__ static float2 product(float2 x, float2 y) {
    return {x.x * y.x, x.y * y.y};
  }
  __device__ __forceinline__ static float2 reciprocal(float2 x) {
    return {device::reciprocal_fast(x.x), device::reciprocal_fast(x.y)};
  }

  /// Writes one token's operands at offset `at`. The decays are those of its 2 keys: q's from the
  /// start of its block, k's to the end of its block, q's e^(b - b_middle) and k's e^(b_middle -
  /// b).
  __device__ __forceinline__ void form_token(int c, const BlockFactors& f, int at, float2 prefix,
                                             float2 suffix, float2 middle, float2 inverse) const {
    const float2 k = device::load_pair(tiles.k_tile(c) + at), k8 = product(k, suffix);
    store(tiles.k_operand(c) + at, product(k8, f.of_k));
    if constexpr (outputs) {
      const float2 q = device::load_pair(tiles.q_tile(c) + at), q8 = product(q, prefix);
      store(tiles.q_operand(c) + at, product(q8, f.of_q));
      store(tiles.middle_q() + at, product(q, middle));
      store(tiles.middle_k() + at, product(k, inverse));
#pragma unroll
      for (int level = 0; level < levels; ++level)
        store(tiles.level_tile(c, level) + at,
              product(odd(f.block, level) ? q8 : k8, f.of_level[level]));
    }
  }

  __device__ __forceinline__ static void store(operand_t* to, float2 x) {
    Ops::store_rounded(to, x.x, x.y);
  }

  __device__ __forceinline__ void store_decay(int key, float2 decay) const {
    device::store_pair(tiles.chunk_decay() + key, decay.x, decay.y);
    if constexpr (!outputs) {
      const float2 total = product(device::load_pair(tiles.total_decay() + key), decay);
      device::store_pair(tiles.total_decay() + key, total.x, total.y);
    }
  }
};

}  // namespace gla_bench::linear_recurrence
