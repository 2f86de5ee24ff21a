#pragma once
// The state of one tile of V in chunk_sm90: S^T[64, K] in float32, in the accumulators of the four
// warps that own it.

#include "linear_recurrence/sm90/block.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class TileState {
 public:
  static constexpr int tiles = layout.key_tiles, elements = 32 * tiles;  ///< of a thread

  __device__ __forceinline__ float& at(int element) {
    return state_[element / widest][element % widest];
  }
  /// Key, from the block's first, that elements 4 n and 4 n + 1 (and + 2, + 3) of a thread are of.
  static __device__ __forceinline__ int key_of(int n) { return 8 * n + 2 * (threadIdx.x % 4); }

  __device__ __forceinline__ void clear() {
    // Not before the registers are there: the compiler would spill zeros.
#pragma unroll
    for (int e = 0; e < elements; ++e) asm volatile("mov.b32 %0, 0;" : "=f"(at(e)));
  }
  __device__ __forceinline__ void pin_all() {
#pragma unroll
    for (auto& part : state_) pin(part);
  }

  /// Multiplies the keys: factor(n) has those of key_of(n) and the one behind.
  template <class Factor>
  __device__ __forceinline__ void scale_keys(Factor factor) {
#pragma unroll
    for (int n = 0; n < 8 * tiles; ++n) {
      const float2 f = factor(n);
      at(4 * n) *= f.x;
      at(4 * n + 1) *= f.y;
      at(4 * n + 2) *= f.x;
      at(4 * n + 3) *= f.y;
    }
  }
  /// By a table's factors, a key each, or by the one that stands there.
  __device__ __forceinline__ void scale(unsigned table) {
    if constexpr (key_gates) {
      scale_keys([&](int n) { return load_floats(table + 4 * key_of(n)); });
    } else {
      const float all = load_float(table);
      scale_keys([&](int) { return float2{all, all}; });
    }
  }
  /// By two to the power of a table's numbers.
  __device__ __forceinline__ void unscale(unsigned table) {
    scale_keys([&](int n) {
      const float2 bits = load_floats(table + 4 * key_of(n));
      return float2{device::exp2_fast(bits.x), device::exp2_fast(bits.y)};
    });
  }

  /// Takes the state into a chunk's frame.
  __device__ __forceinline__ void enter(const Stage& stage) {
    if constexpr (key_gates) scale(stage.begin + layout.factor);
  }
  /// Issues a chunk's products with a tile of v, `values`: first those of the outputs, o^T[64, 64],
  /// then the update. Neither is done when it returns.
  __device__ __forceinline__ void issue(const Stage& stage, unsigned values, float (&outputs)[32]) {
    unsigned operands[batch][4];
#pragma unroll
    for (int first = 0; first < steps; first += batch) {
      if (first > 0) products_wait<0>();  // the operands have been read
#pragma unroll
      for (int s = 0; s < batch; ++s) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          operands[s][i] = pack(at(8 * (first + s) + 2 * i), at(8 * (first + s) + 2 * i + 1));
        pin(operands[s]);
      }
      if (first > 0) pin(outputs);
      if (first + batch == steps) finish_scaling(stage);
      products_fence();
#pragma unroll
      for (int s = first; s < first + batch; ++s)
        product_n64<along_k>(
            outputs, operands[s - first],
            operand(stage.begin + layout.q + s / 4 * layout.tile_bytes + s % 4 * 32), s > 0);
      if (first + batch < steps) products_commit();
    }
#pragma unroll
    for (int s = 0; s < 4; ++s)
      product_n64<along_mn, along_k>(outputs, operand(values + s * 2048),
                                     operand(stage.begin + layout.scores + s * 32), true);
    products_commit();
    update(stage, values);
  }
  /// What comes before update() where a prepared chunk's outputs are not asked for yet.
  __device__ __forceinline__ void decay(const Stage& stage) {
    enter(stage);
    finish_scaling(stage);
  }
  /// S^T += V^T K: issued, not waited for.
  __device__ __forceinline__ void update(const Stage& stage, unsigned values) {
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const unsigned long long a = operand(values + s * 2048);
#pragma unroll
      for (int part = 0; part < elements / widest; ++part)
        add_update(state_[part], a,
                   operand(stage.begin + layout.k + 2 * part * layout.tile_bytes + s * 2048,
                           layout.tile_bytes));
    }
    products_commit();
  }

 private:
  static constexpr int widest = tiles == 1 ? 32 : 64;  ///< elements that one product gives a thread
  static constexpr bool decays = trait::decay != no_decay;
  /// Products with 16 keys each, and how many of their operands are in registers at once.
  static constexpr int steps = 4 * tiles;
  /// More than 200 registers, which two groups of two tiles have, and wgmma would run one at a
  /// time.
  static constexpr int batch = layout.value_tiles > 1 ? (layout.value_groups > 1 ? 2 : 4)
                                                      : (steps < 8 ? steps : 8);

  static __device__ __forceinline__ void add_update(float (&state)[32], unsigned long long a,
                                                    unsigned long long b) {
    product_n64<along_mn, along_mn>(state, a, b, true);
  }
  static __device__ __forceinline__ void add_update(float (&state)[64], unsigned long long a,
                                                    unsigned long long b) {
    product_n128<along_mn, along_mn>(state, a, b);
  }

  /// What the state decays by between its use for the outputs and the update.
  __device__ __forceinline__ void finish_scaling(const Stage& stage) {
    if constexpr (key_gates) {
      if (load_shared(stage.begin + layout.strong) != 0) scale(stage.begin + layout.before_update);
    } else if constexpr (decays) {
      scale(stage.begin + layout.factor);
    }
    pin_all();
  }

  float state_[elements / widest][widest];
};

}  // namespace gla_bench::linear_recurrence::sm90
