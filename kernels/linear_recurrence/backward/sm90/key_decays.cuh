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

class KeyWalk : KeyParts {
 public:
  using KeyParts::KeyParts;

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
    const int valid = block_.valid(c);
    KeyDecays own;
    own.load(stage.begin + layout.gate + group() * (layout.gate_tiles / groups) * tile_bytes, 0,
             column_in_tile(), of_, valid);
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
    multiply_states(state, before);
#pragma unroll
    for (int r = 0; r < 2; ++r) before[r] *= device::exp2_fast(frames.key[r]);
    publish_change();
    if (strong)
      walk_strong(step, before);
    else
      walk_mild(stage, c, own, frames, state, before);
  }

  __device__ __forceinline__ void walk_mild(const Stage& stage, int c, const KeyDecays& own,
                                            const Frames& frames,
                                            const unsigned (&state)[width64 / 4],
                                            float (&before)[2]) {
    const unsigned own_q = own_columns(stage.begin + layout.q);
    const unsigned own_k = own_columns(stage.begin + layout.k);
    const float scale = p_.base.inputs.scale;
    if constexpr (bonus) publish_diagonal(own_q, own_k);
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      const KeyDecays::Own each(own, m);
      SomeColumns<1> q, k;
      q.load(own_q + m * 2048), k.load(own_k + m * 2048);
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const int n = 2 * m + half;
          float x[2], y[2];
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            x[e] = scale * q.at(half, r, e) * query_factor(own, each, frames, n, r, e);
            y[e] = k.at(half, r, e) * key_factor(own, frames, n, r, e);
          }
          q.set(half, r, x[0], x[1]), k.set(half, r, y[0], y[1]);
        }
      q.store(own_q + m * 2048);
      k.store(own_k + m * 2048);
    }
    publish_shared();
    named_barrier<consumers>(1);
    barrier_wait(stage.values_arrived(), stage.parity);

    float x[32], y[32];
    read_state(stage, state, x);
    form_scores(
        stage, y,
        [&](float a, int i, int j, int, int, int) {
          if (bonus && i == j) a = sum_of_diagonal(i);
          return i >= j ? a : 0.0f;
        },
        [&](float d, int i, int j, int, int, int) {
          if (bonus && i == j) store_float(d_diagonal(i), d);
          return i > j || (i == j && !bonus) ? d : 0.0f;
        });
    pin(x);
    products_fence();
    multiply_change(stage, y);
    products_commit();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float to_frame = device::exp2_fast(frames.query[r]);
#pragma unroll
      for (int n = 0; n < 8; ++n) x[at(n, r, 0)] *= to_frame, x[at(n, r, 1)] *= to_frame;
    }
    publish_shared();
    named_barrier<consumers>(1);
    products_wait<0>();
    pin(y);
    add_keys(own_k, y, before);

    pin(x), pin(y), pin(change_);
    products_fence();
    multiply_scores(stage, x, y);
    products_commit();
#pragma unroll
    for (int m = 0; m < 4; ++m)
      Products<width64, __nv_bfloat16>::template shared<along_mn, along_mn>(
          change_, operand(stage.begin + layout.q + group() * tile_bytes + m * 2048),
          operand(stage.begin + layout.d_o + m * 2048, tile_bytes), true);
    products_commit();
    products_wait<1>();
    pin(x), pin(y);

    const Frames again = frames.anew();
    Columns dq, dk;
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      const KeyDecays::Own each(own, m);
      SomeColumns<1> q, k;
      q.load(own_q + m * 2048), k.load(own_k + m * 2048);
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        const int n = 2 * m + pair / 2, r = pair % 2;
        float dx[2], dy[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int i = at(n, r, e);
          const float of_query = query_factor(own, each, again, n, r, e);
          const float of_key = key_factor(own, again, n, r, e);
          dx[e] = scale * of_query * x[i], dy[e] = of_key * y[i];
          const float by_query = q.at(n % 2, r, e) * x[i], by_key = k.at(n % 2, r, e) * y[i];
          if constexpr (bonus) {
            const float d = load_float(d_diagonal(token(n, e)));
            const float raw_q = device::reciprocal_fast(of_query) * q.at(n % 2, r, e);  // by scale
            const float raw_k = device::reciprocal_fast(of_key) * k.at(n % 2, r, e);
            dx[e] = fmaf(scale * bonus_[r] * d, raw_k, dx[e]);
            dy[e] = fmaf(bonus_[r] * d, raw_q, dy[e]);
            du_[r] = fmaf(raw_q * raw_k, d, du_[r]);
          }
          x[i] = by_query - by_key;
          if constexpr (bonus) y[i] = by_query;
        }
        dq.set(n, r, dx[0], dx[1]), dk.set(n, r, dy[0], dy[1]);
      }
    }
    // Begun this late, because there are no registers for it before.
    float z[32];
    multiply_values(stage, stage.begin + layout.k, 0, z);
    products_commit();
    store_decays(c, own, before, x, y);
    store_results(stage, dq, dk, z,
                  [&](int t) { multiply_values(stage, stage.begin + layout.k, t, z); });
    later_[0] = frames.query[0], later_[1] = frames.query[1];
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
    for (int r = 0; r < 2; ++r) later_[r] = 0.0f, du_[r] = carried.du[r];
  }

  float later_[2] = {};  // log2 of a factor that D lacks
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
