#pragma once
// The warps of chunk_sm90 that hold the state: 64 columns of V each group, S^T[64, K] in float32.

#include "linear_recurrence/chunk_sm90_block.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class StateGroup {
 public:
  __device__ StateGroup(const ChunkSm90Params& p, const Block& block, int group)
      : p_(p),
        block_(block),
        group_(group),
        lane_(threadIdx.x % 32),
        warp_(threadIdx.x / 32 % 4),
        outputs_(block.shared + layout.outputs + group * layout.tile_bytes) {}

  __device__ void run() {
    load_state();
    for (int c = 0; c < block_.chunks; ++c) {
      const Stage stage = block_.stage(c);
      barrier_wait(stage.arrived(), stage.parity);
      barrier_wait(stage.ready(), stage.parity);
      walk(stage);
      store_outputs(c);
      products_wait<0>();
      pin(state_);
      if (lane_ == 0) barrier_arrive(stage.freed());
    }
    if (block_.chunks > 0 && decays)
      scale_state(block_.stage(block_.chunks - 1).begin + layout.after_update, true);
    store_state();
    if (threadIdx.x % 128 == 0) copies_done<0>();
  }

 private:
  static constexpr int tiles = layout.key_tiles;
  static constexpr bool decays = trait::decay != no_decay;
  static_assert(tiles == 1 || tiles == 2);

  __device__ unsigned value_tile(const Stage& stage) const {
    return stage.begin + layout.v + group_ * layout.tile_bytes;
  }

  /// Column of the state, a key, that elements 4 n and 4 n + 1 (and + 2, + 3) of a thread stand in.
  __device__ int key_of(int n) const { return 8 * n + 2 * (lane_ % 4); }

  static __device__ void add_update(float (&state)[32], unsigned long long a,
                                    unsigned long long b) {
    product_n64<along_mn, along_mn>(state, a, b, true);
  }
  static __device__ void add_update(float (&state)[64], unsigned long long a,
                                    unsigned long long b) {
    product_n128<along_mn, along_mn>(state, a, b);
  }

  /// Multiplies the state's columns by a table's factors, or by 2 to its power.
  __device__ void scale_state(unsigned table, bool exponents) {
#pragma unroll
    for (int n = 0; n < 8 * tiles; ++n) {
      float2 factor = load_floats(table + 4 * key_of(n));
      if (exponents) factor = {device::exp2_fast(factor.x), device::exp2_fast(factor.y)};
      state_[4 * n] *= factor.x;
      state_[4 * n + 1] *= factor.y;
      state_[4 * n + 2] *= factor.x;
      state_[4 * n + 3] *= factor.y;
    }
  }

  /// Issues the chunk's products; the outputs are done when it returns, the update is not.
  __device__ void walk(const Stage& stage) {
    if constexpr (decays) scale_state(stage.begin + layout.factor, false);
    unsigned operands[4 * tiles][4];
#pragma unroll
    for (int s = 0; s < 4 * tiles; ++s)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        operands[s][i] = pack(state_[8 * s + 2 * i], state_[8 * s + 2 * i + 1]);
    if constexpr (decays)
      if (load_shared(stage.begin + layout.strong) != 0)
        scale_state(stage.begin + layout.before_update, false);
    const unsigned values = value_tile(stage);
    pin(state_);
#pragma unroll
    for (int s = 0; s < 4 * tiles; ++s) pin(operands[s]);
    products_fence();
#pragma unroll
    for (int s = 0; s < 4 * tiles; ++s)
      product_n64<along_k>(outputs_t_, operands[s],
                           operand(stage.begin + layout.q + s / 4 * layout.tile_bytes + s % 4 * 32),
                           s > 0);
#pragma unroll
    for (int s = 0; s < 4; ++s)
      product_n64<along_mn, along_k>(outputs_t_, operand(values + s * 2048),
                                     operand(stage.begin + layout.scores + s * 32), true);
    products_commit();
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const unsigned long long a = operand(values + s * 2048);
      const unsigned long long b = operand(stage.begin + layout.k + s * 2048, layout.tile_bytes);
      add_update(state_, a, b);
    }
    products_commit();
    products_wait<1>();
    pin(outputs_t_);
  }

  __device__ void store_outputs(int c) {
    const float scale = p_.base.scale;
    const bool leader = threadIdx.x % 128 == 0;
    if (leader) copies_read<0>();
    named_barrier<128>(2 + group_);
#pragma unroll
    for (int n = 0; n < 8; n += 2) {
      const int token = 8 * (n + lane_ / 16) + lane_ % 8;
      const unsigned column = 32 * warp_ + lane_ / 8 % 2 * 16;
      const auto pair = [&](int at) {
        return pack(scale * outputs_t_[at], scale * outputs_t_[at + 1]);
      };
      store_transposed(outputs_ + swizzled(token, column), pair(4 * n), pair(4 * n + 2),
                       pair(4 * n + 4), pair(4 * n + 6));
    }
    const int valid = block_.valid(c), token = block_.first_token + c * layout.tokens;
    const int column = block_.first_value + group_ * layout.columns;
    if (trait::ragged != 0 && valid < layout.tokens) {
      named_barrier<128>(2 + group_);
      store_rows(valid, token, column);
      return;
    }
    publish_shared();
    named_barrier<128>(2 + group_);
    if (leader) {
      copy_out(p_.o, outputs_, column, token, block_.head, block_.batch);
      copies_commit();
    }
  }

  /// The first rows of the tile, where a copy would go on into the next sequence.
  __device__ void store_rows(int rows, int token, int column) {
    auto* o = static_cast<__nv_bfloat16*>(p_.base.o);
    for (int i = threadIdx.x % 128; i < rows * 32; i += 128) {
      const int row = i / 32, pair = i % 32;
      if (column + 2 * pair >= dim::value_dim) continue;  // V is even
      auto* to = o + (token + row) * p_.base.value_strides.seq +
                 block_.head * p_.base.value_strides.heads + column + 2 * pair;
      *reinterpret_cast<unsigned*>(to) = load_shared(outputs_ + swizzled(row, 4 * pair));
    }
  }

  /// Calls act(element of state_, offset in a state) for the elements that there are.
  template <class Act>
  __device__ void for_state(Act act) {
#pragma unroll
    for (int n = 0; n < 8 * tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = key_of(n) + i % 2;
        const int value =
            block_.first_value + group_ * layout.columns + 16 * warp_ + lane_ / 4 + i / 2 * 8;
        if (key < dim::key_dim && value < dim::value_dim)
          act(state_[4 * n + i], state_offset(key, value));
      }
  }

  __device__ void load_state() {
#pragma unroll
    for (float& element : state_) element = 0;
    if (p_.base.initial_state == nullptr) return;
    const auto* from = reinterpret_cast<const state_t*>(p_.base.initial_state) +
                       block_.sequence * p_.base.state_strides.sequence;
    for_state([&](float& element, long long at) { element = device::to_float(from[at]); });
  }

  __device__ void store_state() {
    if (p_.base.final_state == nullptr) return;
    auto* to = reinterpret_cast<state_t*>(p_.base.final_state) +
               block_.sequence * p_.base.state_strides.sequence;
    for_state([&](float& element, long long at) { to[at] = device::from_float<state_t>(element); });
  }

  const ChunkSm90Params& p_;
  const Block& block_;
  int group_, lane_, warp_;
  unsigned outputs_;  // shared address of this group's tile of outputs
  float state_[32 * tiles];
  float outputs_t_[32];
};

}  // namespace gla_bench::linear_recurrence::sm90
