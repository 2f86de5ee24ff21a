#pragma once
// The walk that keeps the state before each chunk, for the backward of chunk_sm90.

#include "linear_recurrence/backward/sm90/segments.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

class StateKeeper : StateWalk<Pass::states> {
 public:
  using StateWalk::StateWalk;

  __device__ __forceinline__ void run() {
    begin();
    for (int step = 0; step < block_.steps; ++step) {
      keep(block_.number(step));
      add(block_.stage(step), block_.number(step));
    }
  }

 private:
  __device__ __forceinline__ void begin() {
    for_each_element(
        [&](int i, int row, int column) { state_[i] = of_.initial_state(row, column); });
    for (int n = 0; n < block_.segment; ++n)
      pass_segment(p_.base, block_, n, false, key(0), state_);
  }
  /// Stores the state before chunk c.
  __device__ __forceinline__ void keep(int c) const {
    uint4* to = block_.kept(p_.base, c, warp_of_all());
#pragma unroll
    for (int n = 0; n < sizes.value_blocks; ++n) {
      const float* s = state_ + 8 * n;
      if (block_.keeps(warp_of_all(), n))
        to[32 * n] = {pack(s[0], s[1]), pack(s[2], s[3]), pack(s[4], s[5]), pack(s[6], s[7])};
    }
  }
  __device__ __forceinline__ void add(const Stage& stage, int c) {
    barrier_wait(stage.keys_arrived(), stage.parity);
    ChunkDecays own;
    load_decays(stage, c, own);
    add_keys(stage, own, state_);
    products_wait<0>();
    pin(state_);
    barrier_arrive(stage.finished());
  }

  float state_[width64 / 2] = {};
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
