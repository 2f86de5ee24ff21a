#pragma once
// The walk's step through a chunk whose decays are strong, as a function of its own. Such chunks
// are rare, and take more registers than there are. Inside the loop over the chunks they would cost
// every chunk what the compiler then keeps in memory.
//
// Gates that leave nothing of a key are rare in most models, and then few keys of a chunk are
// strong: they are taken pair by pair (strong_keys.cuh). Otherwise all keys are taken by levels
// (strong.cuh).

#include "linear_recurrence/backward/sm90/chunk_walk.cuh"
#include "linear_recurrence/backward/sm90/strong.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// What a thread carries over such a chunk.
struct Carried {
  float change[width64 / 2];  ///< D; at the end D before the chunk, but for 2^later
  float before[2];            ///< 2^end rowsum(S (.) D)
  float du[2];
  float later[2];  ///< only given back
};

class StrongChunk : ChunkWalk {
 public:
  using ChunkWalk::ChunkWalk;

  /// D must be in shared memory already.
  __device__ __forceinline__ void walk(int step, Carried& carried) {
    const Stage stage = block_.stage(step);
    const int c = block_.number(step);
    if constexpr (bonus) begin_bonus();
    KeyDecays own;
    load_decays(stage, c, own);
    float before[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) before[r] = carried.before[r], du_[r] = carried.du[r];
    const bool strong[2] = {own.strong(0), own.strong(1)};
    const StrongKeys keys(block_.shared + layout.diagonal, level(), strong);
    if (keys.few())
      walk_few(stage, c, own, keys, before, carried);
    else
      walk_levels(stage, c, own, before, carried);
#pragma unroll
    for (int r = 0; r < 2; ++r) carried.du[r] = du_[r];
  }

 private:
  /// The strong keys pair by pair, all others as in a mild chunk.
  __device__ __forceinline__ void walk_few(const Stage& stage, int c, const KeyDecays& own,
                                           const StrongKeys& keys, float (&before)[2],
                                           Carried& carried) {
    Frames frames;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      frames.query[r] = keys.has(r) ? 0.0f : own.middle(r);
      frames.key[r] = keys.has(r) ? own.end(r) : own.middle(r);
    }
#pragma unroll
    for (int i = 0; i < width64 / 2; ++i) change_[i] = carried.change[i];
    scale_keys(change_, {device::exp2_fast(own.end(0) - frames.key[0]),
                         device::exp2_fast(own.end(1) - frames.key[1])});
    publish_change();
    unsigned state[width64 / 4];
    load_state(c, state);
    walk_chunk<ByWarps>(stage, c, own, frames, state, before, keys, [] {});
#pragma unroll
    for (int i = 0; i < width64 / 2; ++i) carried.change[i] = change_[i];
#pragma unroll
    for (int r = 0; r < 2; ++r) carried.later[r] = frames.query[r];
  }

  /// All keys by levels (strong.cuh).
  __device__ __forceinline__ void walk_levels(const Stage& stage, int c, const KeyDecays& own,
                                              float (&before)[2], Carried& carried) {
    const Frames frames{{0.0f, 0.0f}, {own.end(0), own.end(1)}};
    const unsigned own_q = own_columns(stage.begin + layout.q);
    const unsigned own_k = own_columns(stage.begin + layout.k);
    const float scale = p_.base.inputs.scale;
    publish_diagonal(own_q, own_k);
    barrier_wait(stage.values_arrived(), stage.parity);
    named_barrier<consumers>(1);
    if (group() == 0) {
      float zero[32] = {};
      store_square(scores(), zero, [&](float, int i, int j, int, int, int) {
        return i == j ? sum_of_diagonal(i) : 0.0f;
      });
    }
    if (group() == groups - 1) store_gradient_diagonal(stage);
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

    float z[32];
    add_state(stage, c, own, frames, scaled, x, p, q_dq, z);
    multiply_change<ByWarps>(stage, z);
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
    add_queries(stage, own, scaled, carried);
    multiply_values<ByWarps>(stage, level(), 0, z);

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
    store_results<ByWarps>(stage, dq, dk, z,
                           [&](int t) { multiply_values<ByWarps>(stage, level(), t, z); });
    carried.later[0] = carried.later[1] = 0.0f;
  }

  /// Writes dA's diagonal.
  __device__ __forceinline__ void store_gradient_diagonal(const Stage& stage) const {
    float d[32];
    multiply_rows<value_tiles, ByWarps>(d, stage.begin + layout.d_o, stage.begin + layout.v);
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int e = 0; e < 2; ++e)
          if (token(n, e) == 16 * warp_ + lane_ / 4 + 8 * r)
            store_float(d_diagonal(token(n, e)), d[at(n, r, e)]);
  }
  /// What the queries read of the state before the chunk. `z`: any.
  __device__ __forceinline__ void add_state(const Stage& stage, int c, const KeyDecays& own,
                                            const Frames& frames, const Columns& scaled,
                                            float (&x)[32], float (&p)[32], float (&q_dq)[32],
                                            float (&z)[32]) const {
    unsigned state[width64 / 4];
    load_state(c, state);
    read_state<ByWarps>(stage, state, z);
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
  }
  /// D before the chunk.
  __device__ __forceinline__ void add_queries(const Stage& stage, const KeyDecays& own,
                                              const Columns& scaled, Carried& carried) const {
    float change[width64 / 2];
#pragma unroll
    for (int i = 0; i < width64 / 2; ++i) change[i] = carried.change[i];
    scale_keys(change, {device::exp2_fast(own.end(0)), device::exp2_fast(own.end(1))});
    multiply<ByWarps>(scaled, stage.begin + layout.d_o, change);
#pragma unroll
    for (int i = 0; i < width64 / 2; ++i) carried.change[i] = change[i];
  }
};

__device__ __noinline__ void walk_strong_chunk(const GradientSm90Params& p, int round, int step,
                                               Carried& carried) {
  extern __shared__ unsigned char memory[];
  const Block<Pass::gradients> block(p.base, memory, round);
  StrongChunk(p, block).walk(step, carried);
}

}  // namespace gla_bench::linear_recurrence::backward::sm90
