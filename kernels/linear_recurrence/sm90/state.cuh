#pragma once
// The warpgroups of chunk_sm90 that hold the state. Each owns one or two tiles of V.

#include "linear_recurrence/sm90/join.cuh"
#include "linear_recurrence/sm90/keep.cuh"
#include "linear_recurrence/sm90/outputs.cuh"
#include "linear_recurrence/sm90/tile.cuh"

namespace gla_bench::linear_recurrence::sm90 {

class StateGroup {
 public:
  __device__ __forceinline__ StateGroup(const ChunkSm90Params& p, const Block& block, int group)
      : p_(p), block_(block), group_(group), thread_(threadIdx.x % 128), lane_(threadIdx.x % 32) {}

  /// Walks the segment from the state that it begins with. Without outputs, computes only the state
  /// that the segment reaches from zero.
  template <bool outputs>
  __device__ __forceinline__ void run() {
#pragma unroll
    for (TileState& state : states_) state.clear();
    if constexpr (outputs) load_state();
    if constexpr (outputs && keeps_states) keep_first_state();
    if constexpr (outputs && ahead) {
      walk_ahead();
    } else {
      walk<outputs>();
    }
    if constexpr (outputs) {
      if (block_.is_last()) store_state();
      if (thread_ == 0) on_chip ? copies_read<0>() : copies_done<0>();
    } else {
      keep_state();
    }
  }

 private:
  static constexpr int tiles = layout.value_tiles, elements = TileState::elements;
  static constexpr bool decays = trait::decay != no_decay;
  /// `freed_early`: whether a stage is freed before the last outputs are added up. With two blocks
  /// in a cluster it is, because that addition waits for the other block. With four blocks there
  /// are not enough registers for it.
  ///
  /// `early`: whether the second tile's state enters the chunk's frame before the first tile's
  /// outputs leave. With four blocks there are again not enough registers.
  static constexpr bool early = cluster < 4, freed_early = cluster == 2;
  /// Whether a chunk's outputs are stored while the products of the next chunk are under way.
  static constexpr bool ahead = on_chip && tiles == 1;

  template <bool outputs>
  __device__ __forceinline__ void walk() {
    for (int c = 0; c < block_.chunks; ++c) {
      const Stage stage = block_.stage(c);
      wait(stage, outputs ? c : block_.backwards(c));
      if constexpr (outputs) {
        states_[0].enter(stage);
#pragma unroll
        for (int t = 0; t < tiles; ++t) {
          const Outputs out(p_, block_, group_);
          float sums[32];
          states_[t].issue(stage, values(stage, t), sums);
          // Before the sums go to another block, because loads would wait behind these stores.
          if (early && t + 1 < tiles) states_[t + 1].enter(stage);
          products_wait<1>();
          if (gates_freed_sooner && t + 1 == tiles && lane_ == 0)
            barrier_arrive(stage.gates_freed());
          if (freed_early && t + 1 == tiles) {
            finish_update(stage);
            if constexpr (keeps_states) keep_state_behind(stage, c);
            if (lane_ == 0) barrier_arrive(stage.freed());
          }
          pin(sums);
          out.finish(c, number(t), is_own(t), sums);
          if (!early && t + 1 < tiles) states_[t + 1].enter(stage);
        }
      } else {
        update(stage);
      }
      if (outputs && freed_early) continue;
      finish_update(stage);
      if constexpr (outputs && keeps_states) keep_state_behind(stage, c);
      bool last = false;
      if constexpr (!outputs) {
        last = is_last(stage);
        publish_shared();  // and no copy overtakes the load
        __syncwarp();      // all lanes have read it
      }
      if (lane_ == 0) barrier_arrive(stage.freed());
      if (last) break;
    }
    if (outputs && joined && block_.segment == 0) pass_state();
  }

  __device__ __forceinline__ void walk_ahead() {
    const Outputs out(p_, block_, group_);
    unsigned pairs[16];
    for (int c = 0; c < block_.chunks; ++c) {
      const Stage stage = block_.stage(c);
      wait(stage, c);
      float sums[32];
      states_[0].enter(stage);
      states_[0].issue(stage, values(stage, 0), sums);
      if (c > 0) out.store_rounded(c - 1, group_, pairs);
      finish_update(stage);
      if constexpr (keeps_states) keep_state_behind(stage, c);
      pin(sums);
      if (lane_ == 0) barrier_arrive(stage.freed());
      out.round(sums, pairs);
    }
    if (joined && block_.segment == 0) pass_state();  // first, because another block waits for it
    if (block_.chunks > 0) out.store_rounded(block_.chunks - 1, group_, pairs);
  }

  /// Waits until chunk c has been prepared.
  __device__ __forceinline__ void wait(const Stage& stage, int c) const {
    barrier_wait(stage.v_arrived(), stage.parity);
    if constexpr (trait::ragged != 0) clear_missing(stage, block_.valid(c));
    barrier_wait(stage.ready(), stage.parity);
  }
  /// Clears the rows of the group's tiles of v behind the end of a ragged sequence, where the next
  /// sequence lies. A NaN there would not be dropped by a score of 0.
  __device__ __forceinline__ void clear_missing(const Stage& stage, int valid) const {
    if (valid >= layout.tokens) return;
    constexpr unsigned none[4] = {};
    for (int t = 0; t < tiles; ++t)
      for (int at = valid * 128 + thread_ * 16; at < layout.tokens * 128; at += 128 * 16)
        store_words(values(stage, t) + at, none);
    publish_shared();
    named_barrier<128>(2 + group_);
  }
  /// Issues the products that update the state, where no outputs are asked for.
  __device__ __forceinline__ void update(const Stage& stage) {
#pragma unroll
    for (TileState& state : states_) state.pin_all();
    products_fence();
#pragma unroll
    for (int t = 0; t < tiles; ++t) states_[t].update(stage, values(stage, t));
  }
  /// Waits for the products of a chunk that involve the state.
  __device__ __forceinline__ void finish_update(const Stage& stage) {
    products_wait<0>();
#pragma unroll
    for (TileState& state : states_) state.pin_all();
    if constexpr (key_gates && on_chip) {
#pragma unroll
      for (TileState& state : states_) state.scale(stage.begin + layout.after_update);
      publish_shared();  // and no copy of gates overtakes loads that are on their way
      __syncwarp();      // all lanes have read the table
    }
  }

  /// Shared address of a tile of v in a stage.
  __device__ __forceinline__ unsigned values(const Stage& stage, int tile) const {
    return stage.begin + layout.v + number(tile) * layout.tile_bytes;
  }
  /// The number of a tile among the block's tiles. Of two tiles, the one that belongs to another
  /// block comes first. Sums for the block's own tile are then added up while those of the first
  /// are on their way, so nobody waits for them.
  __device__ __forceinline__ int number(int tile) const {
    const bool swap = cluster > 1 && tiles == 2 && block_.rank % 2 == 0;
    return group_ * tiles + (swap ? 1 - tile : tile);
  }

  /// Whether this block adds up the outputs of a tile. Known at compile time where possible.
  __device__ __forceinline__ bool is_own(int tile) const {
    if (cluster == 1) return true;
    if (tile + 1 < tiles) return false;
    return cluster == tiles || number(tile) % cluster == block_.rank;
  }

  /// Calls act(element, offset in a state) for every element that lies within K and V.
  template <class Act>
  __device__ __forceinline__ void for_state(Act act) {
#pragma unroll
    for (int t = 0; t < tiles; ++t)
#pragma unroll
      for (int n = 0; n < 8 * layout.key_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int key = block_.first_key() + TileState::key_of(n) + i % 2;
          const int value = block_.first_value() + number(t) * layout.columns +
                            16 * (thread_ / 32) + lane_ / 4 + i / 2 * 8;
          if (key < dim::key_dim && value < dim::value_dim)
            act(states_[t].at(4 * n + i), state_offset(key, value));
        }
  }

  /// Loads the state that the segment begins with: the initial state and the states of the segments
  /// before it.
  __device__ __forceinline__ void load_state() {
    int first = block_.segment;  // the first segment whose state is needed
    if constexpr (segments > 1 && !joined) first = first_left();
    if (p_.base.initial_state != nullptr && first == 0) {
      const auto* from = reinterpret_cast<const state_t*>(p_.base.initial_state) +
                         block_.sequence * p_.base.state_strides.sequence;
      for_state([&](float& element, long long at) { element = device::to_float(from[at]); });
    }
    if constexpr (joined)
      take_state();
    else if constexpr (segments > 1)
      for (int s = first; s < block_.segment; ++s)
#pragma unroll
        for (int t = 0; t < tiles; ++t) pass_segment(s, t);
  }
  /// Finds the first segment whose state has not decayed to nothing where this one begins. On
  /// return the decays of all segments before are in device memory.
  __device__ __forceinline__ int first_left() const {
    int s = block_.segment;
    if (s > 0) wait_for_launch_before();
    if constexpr (!decays) return 0;
    constexpr int numbers = key_gates ? layout.keys / 32 : 1;
    float bits[numbers] = {};
    bool left = true;
    while (s > 0 && left) {
      const float* of_segment = decays_of(--s);
      left = false;
#pragma unroll
      for (int i = 0; i < numbers; ++i) {
        const int key = key_gates ? lane_ + 32 * i : 0;
        bits[i] += of_segment[key];
        left = left || (block_.first_key() + key < dim::key_dim && !(bits[i] < enough));
      }
      left = __any_sync(0xffffffffu, left);
    }
    return s;
  }
  /// Log2 decays of a segment, from the block's first key on. Where all keys share one decay, that
  /// one number.
  __device__ __forceinline__ const float* decays_of(int segment) const {
    return static_cast<const float*>(p_.base.work[work_decays]) +
           block_.place(segment) * decay_width + (key_gates ? block_.first_key() : 0);
  }
  /// Takes the state that the previous block passes on, and sends what this segment makes of it to
  /// the next block.
  __device__ __forceinline__ void take_state() {
    if (block_.segment == 0) return;
    Passing passing(block_);
    const bool middle = block_.between();
    if (middle) {
      for (int c = 0; c < block_.chunks; ++c) {
        const Stage stage = block_.stage(c);
        wait(stage, c);
#pragma unroll
        for (TileState& state : states_) state.decay(stage);
        update(stage);
        finish_update(stage);
      }
      passing.load_decays();
    }
    passing.wait();
#pragma unroll
    for (int t = 0; t < tiles; ++t) passing.take(states_[t], number(t), middle);
  }
  __device__ __forceinline__ void pass_state() {
    const Passing passing(block_);
#pragma unroll
    for (int t = 0; t < tiles; ++t) passing.pass(states_[t], number(t));
  }

  __device__ __forceinline__ void pass_segment(int segment, int tile) {
    TileState& state = states_[tile];
    if constexpr (decays) {
      const float* bits = decays_of(segment);
      if constexpr (key_gates) {
        state.scale_keys([&](int n) {
          const float2 two = *reinterpret_cast<const float2*>(bits + TileState::key_of(n));
          return float2{device::exp2_fast(two.x), device::exp2_fast(two.y)};
        });
      } else {
        const float all = device::exp2_fast(*bits);
        state.scale_keys([&](int) { return float2{all, all}; });
      }
    }
    const float4* from = kept_state(segment, tile);
#pragma unroll
    for (int i = 0; i < elements / 4; ++i) {
      const float4 four = from[i * 128];
      state.at(4 * i) += four.x, state.at(4 * i + 1) += four.y;
      state.at(4 * i + 2) += four.z, state.at(4 * i + 3) += four.w;
    }
  }
  __device__ __forceinline__ void keep_state() {
#pragma unroll
    for (int t = 0; t < tiles; ++t) {
      float4* to = kept_state(block_.segment, t);
      TileState& state = states_[t];
#pragma unroll
      for (int i = 0; i < elements / 4; ++i)
        to[i * 128] = {state.at(4 * i), state.at(4 * i + 1), state.at(4 * i + 2),
                       state.at(4 * i + 3)};
    }
  }
  /// This thread's elements of a segment's state in the workspace: four in every 128.
  __device__ __forceinline__ float4* kept_state(int segment, int tile) const {
    const long long block = (block_.place(segment) * slices + block_.slice) * cluster + block_.rank;
    return static_cast<float4*>(p_.base.work[work_states]) +
           (block * layout.values + number(tile)) * elements * 32 + thread_;
  }

  /// Keeps the state before a chunk of the segment, for the backward.
  template <class Factor>
  __device__ __forceinline__ void keep_state_before(int c, Factor factor) {
    const KeptStates kept(p_, block_);
#pragma unroll
    for (int t = 0; t < tiles; ++t)
      kept.keep(states_[t], c, block_.first_value() + number(t) * layout.columns, factor);
  }
  __device__ __forceinline__ void keep_first_state() {
    if (block_.chunks > 0) keep_state_before(0, [](int) { return float2{1.0f, 1.0f}; });
  }
  /// Keeps the state behind chunk c for the next chunk of the segment. The next segment keeps its
  /// own first one.
  __device__ __forceinline__ void keep_state_behind(const Stage& stage, int c) {
    if (c + 1 == block_.chunks) return;
    if constexpr (key_gates && !on_chip) {
      const unsigned table = stage.begin + layout.after_update;
      keep_state_before(c + 1, [&](int n) {
        const float2 bits = load_floats(table + 4 * TileState::key_of(n));
        return float2{device::exp2_fast(bits.x), device::exp2_fast(bits.y)};
      });
      publish_shared();  // and no copy of gates overtakes loads that are on their way
      __syncwarp();      // all lanes have read the table
    } else {
      keep_state_before(c + 1, [](int) { return float2{1.0f, 1.0f}; });
    }
  }

  __device__ __forceinline__ void store_state() {
    if (key_gates && !on_chip && block_.chunks > 0) {
      const unsigned table = block_.stage(block_.chunks - 1).begin + layout.after_update;
#pragma unroll
      for (TileState& state : states_) state.unscale(table);
    }
    if (p_.base.final_state == nullptr) return;
    auto* to = reinterpret_cast<state_t*>(p_.base.final_state) +
               block_.sequence * p_.base.state_strides.sequence;
    for_state([&](float& element, long long at) { to[at] = device::from_float<state_t>(element); });
  }

  const ChunkSm90Params& p_;
  const Block& block_;
  int group_, thread_, lane_;
  TileState states_[tiles];
};

}  // namespace gla_bench::linear_recurrence::sm90
