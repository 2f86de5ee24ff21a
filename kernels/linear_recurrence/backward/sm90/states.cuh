#pragma once
// The walk that keeps the state before each chunk, for the backward of chunk_sm90.

#include "linear_recurrence/backward/sm90/decays.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// A warpgroup that owns the state of 64 keys, as accumulators of a product [keys, V].
class StateKeeper {
 public:
  __device__ __forceinline__ StateKeeper(const GradientSm90Params& p, const Block<true>& block)
      : p_(p),
        block_(block),
        of_(p.base, block.pair),
        warp_(static_cast<int>(threadIdx.x) / 32 % 4),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  __device__ __forceinline__ void run() {
    begin();
    for (int c = 0; c < block_.chunks; ++c) {
      keep(c);
      add(block_.stage(c), c);
    }
    if (p_.base.d_final_state != nullptr) keep(block_.chunks);
  }

 private:
  static constexpr GradientSm90Layout sizes = layout_of<true>;

  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int i = 0; i < width64 / 2; ++i) {
      const int key = 64 * group() + 16 * warp_ + lane_ / 4 + i / 2 % 2 * 8;
      const int column = i / 4 * 8 + lane_ % 4 * 2 + i % 2;
      state_[i] = key < keys && column < values ? of_.initial_state(key, column) : 0.0f;
    }
  }
  /// Stores the state before chunk c.
  __device__ __forceinline__ void keep(int c) const {
    uint4* to = block_.kept(p_.base, c) + (4 * group() + warp_) * sizes.value_blocks * 32 + lane_;
#pragma unroll
    for (int n = 0; n < sizes.value_blocks; ++n) {
      const float* s = state_ + 8 * n;
      to[32 * n] = {pack(s[0], s[1]), pack(s[2], s[3]), pack(s[4], s[5]), pack(s[6], s[7])};
    }
  }
  /// S <- 2^end S + (k 2^(end - b))^T v.
  __device__ __forceinline__ void add(const Stage& stage, int c) {
    barrier_wait(stage.keys_arrived(), stage.parity);
    ChunkDecays own;
    own.load(stage.begin + sizes.gate + group() * (sizes.gate_tiles / groups) * tile_bytes,
             stage.begin + sizes.token_gates, 16 * warp_, of_, block_.valid(c));
    Columns k;
    k.load(Columns::place(stage.begin + sizes.k + group() * tile_bytes, 16 * warp_));
    if constexpr (decays) {
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int r = 0; r < 2; ++r)
          k.set(n, r, k.at(n, r, 0) * device::exp2_fast(own.end(r) - own.sum(n, r, 0)),
                k.at(n, r, 1) * device::exp2_fast(own.end(r) - own.sum(n, r, 1)));
      const float factor[2] = {device::exp2_fast(own.end(0)), device::exp2_fast(own.end(1))};
#pragma unroll
      for (int i = 0; i < width64 / 2; ++i) state_[i] *= factor[i / 2 % 2];
    }
    barrier_wait(stage.values_arrived(), stage.parity);
    pin(state_);
    products_fence();
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      unsigned a[4];
      k.operand(m, a);
      Products<width64, __nv_bfloat16>::template registers<along_mn>(
          state_, a, operand(stage.begin + sizes.v + m * 2048, tile_bytes), true);
    }
    products_commit();
    products_wait<0>();
    pin(state_);
    barrier_arrive(stage.finished());
  }

  const GradientSm90Params& p_;
  const Block<true>& block_;
  Sequence of_;
  int warp_, lane_;
  float state_[width64 / 2];
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
