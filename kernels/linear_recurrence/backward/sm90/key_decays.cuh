#pragma once
// The walk back where each key has a decay of its own.
//
// Tokens are scaled into frames: q~ = scale q 2^(b' - rq), k~ = k 2^(rk - b), and
// D~ = 2^(end - rk) D. Where decays are mild, rq = rk is the middle of the chunk, and the same
// tiles serve the scores and their gradients. Where they are strong, rq = 0 and rk = end, which is
// always finite, strong_walk.cuh takes the step, and strong.cuh adds what tokens of the chunk are
// to each other.
//
//   A = tril(q~ k~^T), dA = tril(do v^T)
//   dq = scale 2^(b' - rq) (.) X,  X = 2^rq S do + dA k~
//   dk = 2^(rk - b) (.) Y,         Y = D~ v + dA^T q~
//   dv = A^T do + D~^T k~
//   D before the chunk = 2^rq (2^(rk - rq) D~ + q~^T do)
//
// The diagonal has a bonus u, or no factor. Where it can not be part of the tiles its terms are
// added apart: with E = do . v of the token, dq += scale u k E, dk += scale u q E,
// du += scale q k E, A = scale sum u q k.

#include "linear_recurrence/backward/sm90/strong_walk.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

class KeyWalk : ChunkWalk {
 public:
  using ChunkWalk::ChunkWalk;

  __device__ __forceinline__ void run() {
    begin();
    if constexpr (bonus) begin_bonus();
    for (int step = 0; step < block_.steps; ++step) walk(step);
    scale_keys(change_, {device::exp2_fast(later_[0]), device::exp2_fast(later_[1])});
    store_initial_gradients();
    if constexpr (bonus) store_bonus_sums();
  }

 private:
  __device__ __forceinline__ void walk(int step) {
    const Stage stage = block_.stage(step);
    const int c = block_.number(step);
    unsigned state[width64 / 4];
    load_state(c, state);
    barrier_wait(stage.keys_arrived(), stage.parity);
    KeyDecays own;
    load_decays(stage, c, own);
    const bool strong = named_barrier_or<consumers>(1, own.strong());
    Frames frames;
    float factor[2], later[2], before[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      frames.query[r] = strong ? 0.0f : own.middle(r);
      frames.key[r] = strong ? own.end(r) : own.middle(r);
      factor[r] = device::exp2_fast(own.end(r) - frames.key[r]);
      later[r] = device::exp2_fast(later_[r]);
    }
    // Both at once could be below 2^-126, though their product with D is not.
    scale_keys(change_, later);
    scale_keys(change_, factor);
    publish_change();
    const auto sum_states = [&] {
      multiply_states(state, before);
#pragma unroll
      for (int r = 0; r < 2; ++r) before[r] *= device::exp2_fast(frames.key[r]);
    };
    if (strong) {
      sum_states();
      walk_strong(step, before);
    } else {
      walk_chunk<ByWarpgroup>(stage, c, own, frames, state, before, NoStrongKeys{}, sum_states);
      later_[0] = frames.query[0], later_[1] = frames.query[1];
    }
  }

  __device__ __forceinline__ void walk_strong(int step, const float (&before)[2]) {
    Carried carried;
#pragma unroll
    for (int i = 0; i < width64 / 2; ++i) carried.change[i] = change_[i];
#pragma unroll
    for (int r = 0; r < 2; ++r) carried.before[r] = before[r], carried.du[r] = du_[r];
    walk_strong_chunk(p_, block_.round, step, carried);
#pragma unroll
    for (int i = 0; i < width64 / 2; ++i) change_[i] = carried.change[i];
#pragma unroll
    for (int r = 0; r < 2; ++r) later_[r] = carried.later[r], du_[r] = carried.du[r];
  }

  float later_[2] = {};  // log2 of a factor that D lacks
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
