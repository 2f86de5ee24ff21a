#pragma once
// The warps of chunk_sm90 that hold the state: 64 columns of V each group, S^T[64, K] in float32.

#include "linear_recurrence/chunk_sm90_block.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class StateGroup {
 public:
  __device__ __forceinline__ StateGroup(const ChunkSm90Params& p, const Block& block, int group)
      : p_(p),
        block_(block),
        group_(group),
        thread_(threadIdx.x % 128),
        lane_(threadIdx.x % 32),
        warp_(threadIdx.x / 32 % 4),
        outputs_(block.shared + layout.outputs + group * layout.tile_bytes) {}

  /// The segment from the state that it begins with; or, without outputs, its state from zero.
  template <bool outputs>
  __device__ __forceinline__ void run() {
    // Not before the registers are there: the compiler would spill zeros.
#pragma unroll
    for (int e = 0; e < elements; ++e) asm volatile("mov.b32 %0, 0;" : "=f"(state(e)));
    if constexpr (outputs) load_state();
    for (int c = 0; c < block_.chunks; ++c) {
      const Stage stage = block_.stage(c);
      barrier_wait(stage.arrived(), stage.parity);
      barrier_wait(stage.ready(), stage.parity);
      if constexpr (outputs) {
        walk(stage);
        store_outputs(c);
      } else {
        if constexpr (decays) scale_state(stage.begin + layout.factor);
        pin_state();
        products_fence();
        update(stage);
      }
      products_wait<0>();
      pin_state();
      if (lane_ == 0) barrier_arrive(stage.freed());
    }
    if constexpr (outputs) {
      if (block_.segment == segments - 1) {
        if (key_gates && block_.chunks > 0)
          unscale_state(block_.stage(block_.chunks - 1).begin + layout.after_update);
        store_state();
      }
      if (thread_ == 0) copies_done<0>();
    } else {
      keep_state();
    }
  }

 private:
  static constexpr int tiles = layout.key_tiles, elements = 32 * tiles;
  static constexpr int widest = tiles == 1 ? 32 : 64;  // elements that one product gives a thread
  static constexpr bool decays = trait::decay != no_decay;

  __device__ __forceinline__ float& state(int element) {
    return state_[element / widest][element % widest];
  }
  __device__ __forceinline__ void pin_state() {
#pragma unroll
    for (auto& part : state_) pin(part);
  }

  __device__ __forceinline__ unsigned value_tile(const Stage& stage) const {
    return stage.begin + layout.v + group_ * layout.tile_bytes;
  }

  /// Column of the state, a key, that elements 4 n and 4 n + 1 (and + 2, + 3) of a thread stand in.
  __device__ __forceinline__ int key_of(int n) const {
    return 8 * n + 2 * (lane_ % 4);
  }

  static __device__ __forceinline__ void add_update(float (&state)[32], unsigned long long a,
                                                    unsigned long long b) {
    product_n64<along_mn, along_mn>(state, a, b, true);
  }
  static __device__ __forceinline__ void add_update(float (&state)[64], unsigned long long a,
                                                    unsigned long long b) {
    product_n128<along_mn, along_mn>(state, a, b);
  }

  /// Multiplies the state's columns: factor(n) has those of key_of(n) and the one behind.
  template <class Factor>
  __device__ __forceinline__ void scale_columns(Factor factor) {
#pragma unroll
    for (int n = 0; n < 8 * tiles; ++n) {
      const float2 f = factor(n);
      state(4 * n) *= f.x;
      state(4 * n + 1) *= f.y;
      state(4 * n + 2) *= f.x;
      state(4 * n + 3) *= f.y;
    }
  }
  /// By a table's factors, a key each, or by the one that stands there.
  __device__ __forceinline__ void scale_state(unsigned table) {
    if constexpr (key_gates) {
      scale_columns([&](int n) { return load_floats(table + 4 * key_of(n)); });
    } else {
      const float all = load_float(table);
      scale_columns([&](int) { return float2{all, all}; });
    }
  }
  /// By two to the power of a table's numbers.
  __device__ __forceinline__ void unscale_state(unsigned table) {
    scale_columns([&](int n) {
      const float2 bits = load_floats(table + 4 * key_of(n));
      return float2{device::exp2_fast(bits.x), device::exp2_fast(bits.y)};
    });
  }

  /// Issues the chunk's products; the outputs are done when it returns, the update is not.
  __device__ __forceinline__ void walk(const Stage& stage) {
    if constexpr (key_gates) scale_state(stage.begin + layout.factor);
    constexpr int steps = 4 * tiles, batch = steps < 8 ? steps : 8;
    unsigned operands[batch][4];
#pragma unroll
    for (int first = 0; first < steps; first += batch) {
      if (first > 0) products_wait<0>();  // the operands have been read
#pragma unroll
      for (int s = 0; s < batch; ++s) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          operands[s][i] = pack(state(8 * (first + s) + 2 * i), state(8 * (first + s) + 2 * i + 1));
        pin(operands[s]);
      }
      if (first > 0) pin(outputs_t_);
      if (first + batch == steps) finish_scaling(stage);
      products_fence();
#pragma unroll
      for (int s = first; s < first + batch; ++s)
        product_n64<along_k>(
            outputs_t_, operands[s - first],
            operand(stage.begin + layout.q + s / 4 * layout.tile_bytes + s % 4 * 32), s > 0);
      if (first + batch < steps) products_commit();
    }
#pragma unroll
    for (int s = 0; s < 4; ++s)
      product_n64<along_mn, along_k>(outputs_t_, operand(value_tile(stage) + s * 2048),
                                     operand(stage.begin + layout.scores + s * 32), true);
    products_commit();
    update(stage);
    products_wait<1>();
    pin(outputs_t_);
  }
  /// What the state decays by between its use for the outputs and the update.
  __device__ __forceinline__ void finish_scaling(const Stage& stage) {
    if constexpr (key_gates) {
      if (load_shared(stage.begin + layout.strong) != 0)
        scale_state(stage.begin + layout.before_update);
    } else if constexpr (decays) {
      scale_state(stage.begin + layout.factor);
    }
    pin_state();
  }
  __device__ __forceinline__ void update(const Stage& stage) {
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const unsigned long long a = operand(value_tile(stage) + s * 2048);
#pragma unroll
      for (int part = 0; part < elements / widest; ++part)
        add_update(state_[part], a,
                   operand(stage.begin + layout.k + 2 * part * layout.tile_bytes + s * 2048,
                           layout.tile_bytes));
    }
    products_commit();
  }

  // --- outputs

  __device__ __forceinline__ void store_outputs(int c) {
    const float scale = p_.base.scale;
    const bool leader = thread_ == 0;
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
    const int column = block_.first_value() + group_ * layout.columns;
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
  __device__ __forceinline__ void store_rows(int rows, int token, int column) {
    auto* o = static_cast<__nv_bfloat16*>(p_.base.o);
    for (int i = thread_; i < rows * 32; i += 128) {
      const int row = i / 32, pair = i % 32;
      if (column + 2 * pair >= dim::value_dim) continue;  // V is even
      auto* to = o + (token + row) * p_.base.value_strides.seq +
                 block_.head * p_.base.value_strides.heads + column + 2 * pair;
      *reinterpret_cast<unsigned*>(to) = load_shared(outputs_ + swizzled(row, 4 * pair));
    }
  }

  // --- states

  /// Calls act(element, offset in a state) for the elements that there are.
  template <class Act>
  __device__ __forceinline__ void for_state(Act act) {
#pragma unroll
    for (int n = 0; n < 8 * tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = key_of(n) + i % 2;
        const int value =
            block_.first_value() + group_ * layout.columns + 16 * warp_ + lane_ / 4 + i / 2 * 8;
        if (key < dim::key_dim && value < dim::value_dim)
          act(state(4 * n + i), state_offset(key, value));
      }
  }

  /// The state that the segment begins with: the initial one, and the segments before.
  __device__ __forceinline__ void load_state() {
    if (p_.base.initial_state != nullptr) {
      const auto* from = reinterpret_cast<const state_t*>(p_.base.initial_state) +
                         block_.sequence * p_.base.state_strides.sequence;
      for_state([&](float& element, long long at) { element = device::to_float(from[at]); });
    }
    if constexpr (segments > 1)
      for (int s = 0; s < block_.segment; ++s) pass_segment(s);
  }
  __device__ __forceinline__ void pass_segment(int segment) {
    if constexpr (decays) {
      const float* bits = static_cast<const float*>(p_.base.work[work_decays]) +
                          block_.place(segment) * decay_width;
      if constexpr (key_gates) {
        scale_columns([&](int n) {
          const float2 two = *reinterpret_cast<const float2*>(bits + key_of(n));
          return float2{device::exp2_fast(two.x), device::exp2_fast(two.y)};
        });
      } else {
        const float all = device::exp2_fast(*bits);
        scale_columns([&](int) { return float2{all, all}; });
      }
    }
    const float4* from = kept_state(segment);
#pragma unroll
    for (int i = 0; i < elements / 4; ++i) {
      const float4 four = from[i * 128];
      state(4 * i) += four.x, state(4 * i + 1) += four.y;
      state(4 * i + 2) += four.z, state(4 * i + 3) += four.w;
    }
  }
  __device__ __forceinline__ void keep_state() {
    float4* to = kept_state(block_.segment);
#pragma unroll
    for (int i = 0; i < elements / 4; ++i)
      to[i * 128] = {state(4 * i), state(4 * i + 1), state(4 * i + 2), state(4 * i + 3)};
  }
  /// This thread's elements of a segment's state in the workspace, four in every 128.
  __device__ __forceinline__ float4* kept_state(int segment) const {
    const long long group =
        (block_.place(segment) * slices + block_.slice) * tile::value_groups + group_;
    return static_cast<float4*>(p_.base.work[work_states]) + group * elements * 32 + thread_;
  }

  __device__ __forceinline__ void store_state() {
    if (p_.base.final_state == nullptr) return;
    auto* to = reinterpret_cast<state_t*>(p_.base.final_state) +
               block_.sequence * p_.base.state_strides.sequence;
    for_state([&](float& element, long long at) { to[at] = device::from_float<state_t>(element); });
  }

  const ChunkSm90Params& p_;
  const Block& block_;
  int group_, thread_, lane_, warp_;
  unsigned outputs_;  // shared address of this group's tile of outputs
  float state_[elements / widest][widest];
  float outputs_t_[32];
};

}  // namespace gla_bench::linear_recurrence::sm90
