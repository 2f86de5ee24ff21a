#pragma once
// The state of one tile of V in chunk_sm90: S^T[64, K] in float32. It lies in the accumulators of
// the warpgroup that owns the tile.

#include "linear_recurrence/sm90/block.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class TileState {
 public:
  static constexpr int tiles = layout.key_tiles, elements = 32 * tiles;  ///< of a thread

  __device__ __forceinline__ float& at(int element) {
    return state_[element / widest][element % widest];
  }
  /// Key, counted from the block's first, of this thread's elements 4 n and 4 n + 2. The elements
  /// after each of them belong to the next key.
  static __device__ __forceinline__ int key_of(int n) { return 8 * n + 2 * (threadIdx.x % 4); }

  __device__ __forceinline__ void clear() {
    // The asm keeps the compiler from forming the zeros before the registers for them are there. It
    // would spill them.
#pragma unroll
    for (int e = 0; e < elements; ++e) asm volatile("mov.b32 %0, 0;" : "=f"(at(e)));
  }
  __device__ __forceinline__ void pin_all() {
#pragma unroll
    for (auto& part : state_) pin(part);
  }

  /// Multiplies the state, key by key: factor(n) has the factors of key_of(n) and of the key after
  /// it.
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
  /// Multiplies by a table's factors, one per key, or by the single factor that stands there.
  __device__ __forceinline__ void scale(unsigned table) {
    if constexpr (key_gates) {
      scale_keys([&](int n) { return load_floats(table + 4 * key_of(n)); });
    } else {
      const float all = load_float(table);
      scale_keys([&](int) { return float2{all, all}; });
    }
  }
  /// Multiplies by two to the power of a table's numbers.
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
  /// Issues a chunk's products with `values`, a tile of v: first those of the outputs, o^T[64, 64],
  /// then the update. Neither is complete on return.
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
  /// What must happen before update() if outputs of a prepared chunk are not wanted yet.
  __device__ __forceinline__ void decay(const Stage& stage) {
    enter(stage);
    finish_scaling(stage);
  }
  /// Issues S^T += V^T K, and does not wait for it.
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
  /// Number of products with 16 keys each, and how many of their operands are in registers at once.
  static constexpr int steps = 4 * tiles;
  /// The batch is smaller where two warpgroups have two tiles each. They have 200 registers per
  /// thread. With more than that, wgmma would run one product at a time.
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

  /// Applies the decay that falls between the state's use for the outputs and its update.
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
