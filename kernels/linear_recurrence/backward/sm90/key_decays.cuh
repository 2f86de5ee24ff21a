#pragma once
// The walk back where each key has a decay of its own.
//
// Tokens are scaled into frames: q~ = scale q 2^(b' - rq), k~ = k 2^(rk - b), and
// D~ = 2^(end - rk) D. Where decays are mild, rq = rk is the middle of the chunk, and the same
// tiles serve the scores and their gradients. Where they are strong, rq = 0 and rk = end, which is
// always finite, and strong.cuh adds what tokens of the chunk are to each other.
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

#include "linear_recurrence/backward/sm90/key_parts.cuh"
#include "linear_recurrence/backward/sm90/strong.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

class KeyWalk : KeyParts {
 public:
  using KeyParts::KeyParts;

  __device__ __forceinline__ void run() {
    begin();
    if constexpr (bonus) begin_bonus();
    for (int step = 0; step < block_.steps; ++step) walk(block_.stage(step), block_.number(step));
    scale_keys(change_, {device::exp2_fast(later_[0]), device::exp2_fast(later_[1])});
    store_initial_gradients();
    if constexpr (bonus) store_bonus_sums();
  }

 private:
  __device__ __forceinline__ void walk(const Stage& stage, int c) {
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
      walk_strong(stage, c, own, frames, state, before);
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
    float z[32];
    multiply_values(stage, stage.begin + layout.k, 0, z);
    products_commit();
#pragma unroll
    for (int m = 0; m < 4; ++m)
      Products<width64, __nv_bfloat16>::template shared<along_mn, along_mn>(
          change_, operand(stage.begin + layout.q + group() * tile_bytes + m * 2048),
          operand(stage.begin + layout.d_o + m * 2048, tile_bytes), true);
    products_commit();
    products_wait<2>();
    pin(x), pin(y);

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
          const float of_query = query_factor(own, each, frames, n, r, e);
          const float of_key = key_factor(own, frames, n, r, e);
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
    store_decays(c, own, before, x, y);
    store_results(stage, dq, dk, z,
                  [&](int t) { begin_values(stage, stage.begin + layout.k, t, z); });
    later_[0] = frames.query[0], later_[1] = frames.query[1];
  }

  /// dv of the group's tile t of V, [columns, tokens], begun. `k`: the scaled keys' tiles.
  __device__ __forceinline__ void multiply_values(const Stage& stage, unsigned k, int t,
                                                  float (&z)[32]) const {
    multiply_keys(stage, k, own_tile(t), z);
    multiply_outputs(stage, own_tile(t), z);
  }
  __device__ __forceinline__ void begin_values(const Stage& stage, unsigned k, int t,
                                               float (&z)[32]) const {
    products_fence();
    multiply_values(stage, k, t, z);
  }

  // --- strong decays

  __device__ __forceinline__ void walk_strong(const Stage& stage, int c, const KeyDecays& own,
                                              const Frames& frames, unsigned (&state)[width64 / 4],
                                              float (&before)[2]) {
    const unsigned own_q = own_columns(stage.begin + layout.q);
    const unsigned own_k = own_columns(stage.begin + layout.k);
    const float scale = p_.base.inputs.scale;
    publish_diagonal(own_q, own_k);
    barrier_wait(stage.values_arrived(), stage.parity);
    named_barrier<consumers>(1);
    float z[32];
    if (group() == 0) {
#pragma unroll
      for (int i = 0; i < 32; ++i) z[i] = 0.0f;
      store_square(scores(), z, [&](float, int i, int j, int, int, int) {
        return i == j ? sum_of_diagonal(i) : 0.0f;
      });
    }
    multiply_rows<value_tiles>(z, stage.begin + layout.d_o, stage.begin + layout.v);
    products_wait<0>();
    pin(z);
    if (group() == groups - 1) {
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int r = 0; r < 2; ++r)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (token(n, e) == 16 * warp_ + lane_ / 4 + 8 * r)
              store_float(d_diagonal(token(n, e)), z[at(n, r, e)]);
    }
    named_barrier<consumers>(1);  // the parts of the diagonal have been read
    float x[32], y[32], p[32], q_dq[32];
#pragma unroll
    for (int i = 0; i < 32; ++i) x[i] = y[i] = p[i] = q_dq[i] = 0.0f;
    add_levels({level(), scores(), d_scores(), stage.begin + layout.q, stage.begin + layout.k,
                stage.begin + layout.v, stage.begin + layout.d_o},
               own, warp_, scale, x, y, p, q_dq);

    // The state's parts. k~ takes the levels' tile.
    Columns scaled;  // q~
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
          k.set(half, r, k.at(half, r, 0) * key_factor(own, frames, n, r, 0),
                k.at(half, r, 1) * key_factor(own, frames, n, r, 1));
          scaled.set(n, r, scale * q.at(half, r, 0) * query_factor(own, each, frames, n, r, 0),
                     scale * q.at(half, r, 1) * query_factor(own, each, frames, n, r, 1));
        }
      k.store(own_columns(level()) + m * 2048);
    }
    publish_shared();
    named_barrier<consumers>(1);

    load_state(c, state);
    read_state(stage, state, z);
    products_wait<0>();
    pin(z);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const KeyDecays::Own each(own, n / 2);
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int i = at(n, r, e);
          x[i] = fmaf(query_factor(own, each, frames, n, r, e), z[i], x[i]);
          p[i] = fmaf(scaled.at(n, r, e), z[i], p[i]);
          if constexpr (bonus) q_dq[i] = fmaf(scaled.at(n, r, e), z[i], q_dq[i]);
        }
    }
    products_fence();
    multiply_change(stage, z);
    products_commit();
    products_wait<0>();
    pin(z);
    add_keys(own_columns(level()), z, before);
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      SomeColumns<1> k;
      k.load(own_columns(level()) + m * 2048);
#pragma unroll
      for (int pair = 0; pair < 4; ++pair)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int n = 2 * m + pair / 2, r = pair % 2, i = at(n, r, e);
          y[i] = fmaf(key_factor(own, frames, n, r, e), z[i], y[i]);
          p[i] = fmaf(-k.at(n % 2, r, e), z[i], p[i]);
        }
    }
    scale_keys(change_, {device::exp2_fast(own.end(0)), device::exp2_fast(own.end(1))});
    pin(change_);
    multiply(scaled, stage.begin + layout.d_o, change_);
    multiply_values(stage, level(), 0, z);
    products_commit();

    Columns dq, dk;
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      SomeColumns<1> q, k;
      q.load(own_q + m * 2048), k.load(own_k + m * 2048);
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        const int n = 2 * m + pair / 2, r = pair % 2;
        float dx[2], dy[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int i = at(n, r, e);
          const float d = load_float(d_diagonal(token(n, e)));
          const float raw_q = scale * q.at(n % 2, r, e), raw_k = k.at(n % 2, r, e);
          const float u = bonus ? bonus_[r] : 1.0f;
          dx[e] = scale * fmaf(u * d, raw_k, x[i]), dy[e] = fmaf(u * d, raw_q, y[i]);
          if constexpr (bonus) du_[r] = fmaf(raw_q * raw_k, d, du_[r]);
        }
        dq.set(n, r, dx[0], dx[1]), dk.set(n, r, dy[0], dy[1]);
      }
    }
    store_decays(c, own, before, p, q_dq);
    store_results(stage, dq, dk, z, [&](int t) { begin_values(stage, level(), t, z); });
    later_[0] = later_[1] = 0.0f;
  }

  float later_[2] = {};  // log2 of a factor that D lacks
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
