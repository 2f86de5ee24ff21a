#pragma once
// The walk's step through a chunk in frames (key_decays.cuh explains them).

#include "linear_recurrence/backward/sm90/strong_keys.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

class ChunkWalk : protected KeyParts {
 protected:
  using KeyParts::KeyParts;

  /// D~ must be in shared memory and in change_, which is D before the chunk at the end, but for
  /// 2^rq. `strong`: the thread's strong keys, of a chunk that has a few. `By`: who multiplies.
  /// `meanwhile`: what is done while products run, as forming `before`.
  template <class By, class Strong, class Meanwhile>
  __device__ __forceinline__ void walk_chunk(const Stage& stage, int c, const KeyDecays& own,
                                             const Frames& frames,
                                             const unsigned (&state)[width64 / 4],
                                             float (&before)[2], const Strong& strong,
                                             Meanwhile meanwhile) {
    const unsigned own_q = own_columns(stage.begin + layout.q);
    const unsigned own_k = own_columns(stage.begin + layout.k);
    if constexpr (bonus) publish_diagonal(own_q, own_k);
    scale_tokens(own_q, own_k, own, frames, strong);
    publish_shared();
    named_barrier<consumers>(1);
    barrier_wait(stage.values_arrived(), stage.parity);

    float x[32], y[32];
    read_state<By>(stage, state, x);
    const int row = 16 * warp_ + lane_ / 4;  // of the scores
    const float diagonal[2] = {bonus ? sum_of_diagonal(row) : 0.0f,
                               bonus ? sum_of_diagonal(row + 8) : 0.0f};
    form_scores<By>(
        stage, y,
        [&](float a, int i, int j, int, int r, int) {
          if constexpr (Strong::any) a += strong.score(i, j);
          if (bonus && i == j) a = diagonal[r];
          return i >= j ? a : 0.0f;
        },
        [&](float d, int i, int j, int, int, int) {
          if (bonus && i == j) store_float(d_diagonal(i), d);
          return i > j || (i == j && !bonus) ? d : 0.0f;
        });
    pin(x);
    By::fence();
    multiply_change<By>(stage, y);
    By::commit();
    meanwhile();
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float to_frame = device::exp2_fast(frames.query[r]);
#pragma unroll
      for (int n = 0; n < 8; ++n) x[at(n, r, 0)] *= to_frame, x[at(n, r, 1)] *= to_frame;
    }
    publish_shared();
    named_barrier<consumers>(1);
    if constexpr (Strong::any) {
      strong.form(d_scores());
      named_barrier<consumers>(1);
    }
    By::template wait<0>();
    pin(y);
    add_keys(own_k, y, before);

    if constexpr (Strong::any)
      scale_keys(change_, {device::exp2_fast(frames.key[0] - frames.query[0]),
                           device::exp2_fast(frames.key[1] - frames.query[1])});
    pin(x), pin(y), pin(change_);
    By::fence();
    multiply_scores<By>(stage, x, y);
    By::commit();
    float z[32];
    multiply_values<By>(stage, stage.begin + layout.k, 0, z);
    By::commit();
#pragma unroll
    for (int m = 0; m < 4; ++m)
      By::template Of<width64>::template shared<along_mn, along_mn>(
          change_, operand(stage.begin + layout.q + group() * tile_bytes + m * 2048),
          operand(stage.begin + layout.d_o + m * 2048, tile_bytes), true);
    By::commit();
    By::template wait<2>();
    pin(x), pin(y);

    Columns dq, dk;
    form_gradients(own_q, own_k, own, keeps_factors ? frames : frames.anew(), strong, x, y, dq, dk);
    store_decays(c, own, before, x, y);
    store_results<By>(stage, dq, dk, z,
                      [&](int t) { multiply_values<By>(stage, stage.begin + layout.k, t, z); });
  }

 private:
  /// q~ and k~ in the places of q and k.
  template <class Strong>
  __device__ __forceinline__ void scale_tokens(unsigned own_q, unsigned own_k, const KeyDecays& own,
                                               const Frames& frames, const Strong& strong) const {
    const float scale = p_.base.inputs.scale;
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
            if constexpr (Strong::any)
              if (strong.has(r)) {
                const float own_bits = bonus ? each.bits(n, r, e) : 0.0f;
                strong.put(r, token(n, e), Strong::query, scale * q.at(half, r, e));
                strong.put(r, token(n, e), Strong::key, k.at(half, r, e));
                strong.put(r, token(n, e), Strong::until_query,
                           own.sum_of_query(n, r, e, own_bits));
                strong.put(r, token(n, e), Strong::until_key, own.sum(n, r, e));
              }
            x[e] = scale * q.at(half, r, e) * query_factor(own, each, frames, n, r, e);
            y[e] = k.at(half, r, e) * key_factor(own, frames, n, r, e);
          }
          q.set(half, r, x[0], x[1]), k.set(half, r, y[0], y[1]);
        }
      q.store(own_q + m * 2048);
      k.store(own_k + m * 2048);
    }
  }

  /// dq and dk of the warp's keys. `x` and `y`: X and Y; at the end q dq - k dk without the
  /// diagonal and, with a bonus, q dq.
  template <class Strong>
  __device__ __forceinline__ void form_gradients(unsigned own_q, unsigned own_k,
                                                 const KeyDecays& own, const Frames& frames,
                                                 const Strong& strong, float (&x)[32],
                                                 float (&y)[32], Columns& dq, Columns& dk) {
    const float scale = p_.base.inputs.scale;
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
          const float frame_q = q.at(n % 2, r, e), frame_k = k.at(n % 2, r, e);
          float raw_q = device::reciprocal_fast(of_query) * frame_q;  // by scale
          float raw_k = device::reciprocal_fast(of_key) * frame_k;
          dx[e] = scale * of_query * x[i], dy[e] = of_key * y[i];
          float by_query = frame_q * x[i], by_key = frame_k * y[i];
          if constexpr (Strong::any)
            if (strong.has(r)) {
              const int t = token(n, e);
              const float inner_x = strong.get(r, t, Strong::query_gradient);
              const float inner_y = strong.get(r, t, Strong::key_gradient);
              raw_q = strong.get(r, t, Strong::query), raw_k = strong.get(r, t, Strong::key);
              dx[e] = fmaf(scale, inner_x, dx[e]), dy[e] += inner_y;
              by_query = fmaf(raw_q, inner_x, by_query), by_key = fmaf(raw_k, inner_y, by_key);
            }
          if constexpr (bonus) {
            const float d = load_float(d_diagonal(token(n, e)));
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
  }
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
