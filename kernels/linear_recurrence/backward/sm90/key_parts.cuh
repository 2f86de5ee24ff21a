#pragma once
// What the walk back through mild and through strong chunks has in common, where each key has a
// decay of its own: the frames of tokens, the diagonal, and the gradients of the decays.
// key_decays.cuh explains them.

#include "linear_recurrence/backward/sm90/walk.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

class KeyParts : protected GradientWalk {
 protected:
  using GradientWalk::GradientWalk;

  __device__ __forceinline__ void begin_bonus() {
#pragma unroll
    for (int r = 0; r < 2; ++r) bonus_[r] = key(r) < keys ? of_.bonus_of(key(r)) : 0.0f;
  }
  __device__ __forceinline__ void store_bonus_sums() const {
    const int part = block_.value_slice * segments + block_.segment;
    const long long task = part * sums_of_part(p_.base) + block_.pair;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float sum = sum_of_quarters(du_[r]);
      if (lane_ % 4 == 0 && key(r) < keys) sum_of(p_.base, task, key(r)) = sum;
    }
  }

  struct Frames {
    float query[2], key[2];  // rq, rk

    /// The same frames, in a way that neither the compiler nor the assembler sees through: factors
    /// are computed again instead of being kept in registers.
    __device__ __forceinline__ Frames anew() const {
      Frames same;
#pragma unroll
      for (int r = 0; r < 2; ++r)
        same.query[r] = value_of_lane(query[r]), same.key[r] = value_of_lane(key[r]);
      return same;
    }

   private:
    __device__ __forceinline__ static float value_of_lane(float x) {
      return __shfl_sync(0xffffffffu, x, static_cast<int>(threadIdx.x) % 32);
    }
  };
  __device__ __forceinline__ float query_factor(const KeyDecays& own, const KeyDecays::Own& each,
                                                const Frames& frames, int n, int r, int e) const {
    const float b = own.sum_of_query(n, r, e, bonus ? each.bits(n, r, e) : 0.0f);
    return device::exp2_fast(b - frames.query[r]);
  }
  __device__ __forceinline__ static float key_factor(const KeyDecays& own, const Frames& frames,
                                                     int n, int r, int e) {
    return device::exp2_fast(frames.key[r] - own.sum(n, r, e));
  }

  // --- values

  /// dv of the group's tile t of V, [columns, tokens], begun. `k`: the scaled keys' tiles.
  template <class By = ByWarpgroup>
  __device__ __forceinline__ void multiply_values(const Stage& stage, unsigned k, int t,
                                                  float (&z)[32]) const {
    By::fence();
    multiply_keys<By>(stage, k, own_tile(t), z);
    multiply_outputs<By>(stage, own_tile(t), z);
  }

  // --- the diagonal

  /// Writes the warp's parts of A's diagonal.
  __device__ __forceinline__ void publish_diagonal(unsigned own_q, unsigned own_k) const {
    Columns q, k;
    q.load(own_q), k.load(own_k);
    const float scale = p_.base.inputs.scale;
    float parts[16];
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        parts[2 * n + e] = 0.0f;
#pragma unroll
        for (int r = 0; r < 2; ++r)
          parts[2 * n + e] = fmaf((bonus ? bonus_[r] : 1.0f) * scale * q.at(n, r, e), k.at(n, r, e),
                                  parts[2 * n + e]);
      }
    store_token_parts(level(), parts);
  }
  __device__ __forceinline__ float sum_of_diagonal(int token) const {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < 4 * groups; ++w) sum += load_float(level() + 4 * (w * chunk + token));
    return sum;
  }
  /// Adds parts of 16 tokens, number 2 n + e, up over the lanes that have the same tokens, and
  /// writes them to this warp's row of a table of tokens. With fewer shuffles, as in
  /// scalar_decays.cuh, a step of `rwkv6` takes 4 % longer.
  __device__ __forceinline__ void store_token_parts(unsigned table, float (&parts)[16]) const {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float sum = parts[i];
      sum += __shfl_xor_sync(0xffffffffu, sum, 4);
      sum += __shfl_xor_sync(0xffffffffu, sum, 8);
      sum += __shfl_xor_sync(0xffffffffu, sum, 16);
      if (lane_ / 4 == i % 8)
        store_float(table + 4 * (warp_of_all() * chunk + token(i / 2, i % 2)), sum);
    }
  }
  // --- gradients of the decays

  /// `before`: 2^rk rowsum(S (.) D~) + sum of k~ (D~ v). x: q dq - k dk of each key and token,
  /// without the diagonal. With a bonus, y: q dq.
  __device__ __forceinline__ void store_decays(int c, const KeyDecays& own,
                                               const float (&before)[2], float (&x)[32],
                                               const float (&y)[32]) {
    const int valid = block_.valid(c);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum_backwards([&](int n) { return x[at(n, r, 0)] + x[at(n, r, 1)]; },
                    [&](int n, float sum) {
                      sum += before[r];
                      x[at(n, r, 1)] += sum;
                      x[at(n, r, 0)] += x[at(n, r, 1)];
                      if constexpr (bonus)
                        x[at(n, r, 0)] -= y[at(n, r, 0)], x[at(n, r, 1)] -= y[at(n, r, 1)];
                    });
    }
    if (is_first(c, token(0, 0))) x[at(0, 0, 0)] = x[at(0, 1, 0)] = 0.0f;
    if (trait::raw_gate != 0 || __any_sync(0xffffffffu, own.any_ends())) {
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const KeyDecays::Own each(own, n / 2);
#pragma unroll
        for (int r = 0; r < 2; ++r)
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const float bits = each.bits(n, r, e);
            if (!(bits > strongest)) x[at(n, r, e)] = 0.0f;
            // The log decay of a raw gate w is -exp(w), and its derivative the log decay itself.
            if constexpr (trait::raw_gate != 0) x[at(n, r, e)] *= bits * device::ln_2;
          }
      }
    }
    if (block_.adds_keys())
      store_key_decays<false, true>(c, valid, x);
    else if (valid == chunk && key_slices * layout.key_tiles * 64 == keys)
      store_key_decays<true, false>(c, valid, x);
    else
      store_key_decays<false, false>(c, valid, x);
  }
  /// `whole`: all tokens and keys exist. `adds`: to what a launch before has stored.
  template <bool whole, bool adds>
  __device__ __forceinline__ void store_key_decays(int c, int valid, const float (&x)[32]) const {
    const long long stride = p_.base.inputs.gate_strides.seq;
    float* first = p_.base.d_gate +
                   of_.at(p_.base.inputs.gate_strides, 1LL * c * chunk + token(0, 0)) + key(0);
#pragma unroll
    for (int n = 0; n < 8; ++n, first += 8 * stride)
#pragma unroll
      for (int e = 0; e < 2; ++e)
#pragma unroll
        for (int r = 0; r < 2; ++r)
          if (whole || (token(n, e) < valid && key(r) < keys)) {
            float* to = first + e * stride + 8 * r;
            if constexpr (adds)
              atomicAdd(to, x[at(n, r, e)]);
            else
              *to = x[at(n, r, e)];
          }
  }

  float bonus_[2] = {}, du_[2] = {};
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
