#pragma once
// The walk back where all keys of a token have the same decay, or none. The factors of a pair of a
// query and a key are part of the scores, so that q and k stay as they are.
//
// The gradient of a token's decay is the one that walk.cuh has. That of a constant decay is one sum
// for a head, in which what cancels there would be all that is left where decays are strong. It is
// the sum of its terms, each as often as there are tokens between what is written and what is read.
// With t counted from the chunk's first token and n tokens in it:
//
//   n 2^end rowsum(S (.) D) + sum over pairs of (i - j) (q k^T) dA
//   + sum of (t + 1) q scale 2^b (S do) + sum of (n - 1 - t) k 2^(end - b) (D v)

#include "linear_recurrence/backward/sm90/walk.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

class ScalarWalk : GradientWalk {
 public:
  using GradientWalk::GradientWalk;

  __device__ __forceinline__ void run() {
    begin();
    for (int step = 0; step < block_.steps; ++step) walk(step);
    if constexpr (token_decays)
      if (warp_of_all() == 0) finish_decays(block_.first);
    store_initial_gradients();
    if constexpr (constant_decay) store_constant_sum();
  }

 private:
  static constexpr bool constant_decay = trait::decay == head_decay;
  static constexpr bool token_decays = trait::decay == token_decay;

  __device__ __forceinline__ void walk(int step) {
    const Stage stage = block_.stage(step);
    const int c = block_.number(step);
    const float scale = p_.base.inputs.scale;
    const int valid = block_.valid(c);
    unsigned state[width64 / 4];
    load_state(c, state);
    if constexpr (token_decays)
      if (warp_of_all() == 0 && step > 0) finish_decays(c + 1);
    barrier_wait(stage.keys_arrived(), stage.parity);
    TokenDecays own;
    own.load(0, stage.begin + layout.token_gates, 0, of_, valid);
    const float end = decays ? device::exp2_fast(own.end(0)) : 1.0f;
    float before[2] = {};
    publish_change();
    publish_shared();
    named_barrier<consumers>(1);
    barrier_wait(stage.values_arrived(), stage.parity);

    float x[32], y[32], z[32];
    read_state(stage, state, x);
    const float rows[2] = {own.sum_of(16 * warp_ + lane_ / 4),
                           own.sum_of(16 * warp_ + lane_ / 4 + 8)};
    const auto score = [&](float d, int i, int j, int n, int r, int e) {
      float factor = scale;
      if constexpr (decays) factor *= device::exp2_fast(rows[r] - own.sum(n, r, e));
      return i >= j ? factor * d : 0.0f;
    };
    form_scores(stage, y, score, score);
    if constexpr (constant_decay) {
      publish_shared();
      named_barrier<consumers>(1);
      if (group() == 0) add_pairs(y);
    }
    if constexpr (token_decays) last_own_[0] = own.own(0), last_own_[1] = own.own(1);
    pin(x);
    products_fence();
    multiply_change(stage, y);
    multiply_keys(stage, stage.begin + layout.k, own_tile(0), z);
    products_commit();
    const auto to_begin = [&](int n, int e) {
      return decays ? scale * device::exp2_fast(own.sum(n, 0, e)) : scale;
    };
    const SplitScale split(scale);
    const auto of_query = [&](int n, int e) { return decays ? to_begin(n, e) : split.of_queries; };
    if constexpr (decays) {
      multiply_states(state, before);
      before[0] *= end, before[1] *= end;
    }
    scale_tokens(x, to_begin);
    const unsigned own_q = own_columns(stage.begin + layout.q);
    const unsigned own_k = own_columns(stage.begin + layout.k);
    Columns q;  // scaled to the begin of the chunk
    const auto scale_queries = [&] {
      q.load(own_q);
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int r = 0; r < 2; ++r)
          q.set(n, r, of_query(n, 0) * q.at(n, r, 0), of_query(n, 1) * q.at(n, r, 1));
    };
    // With a constant decay there are no registers for them yet.
    if constexpr (!constant_decay) scale_queries();
    publish_shared();
    named_barrier<consumers>(1);
    products_wait<0>();
    pin(y), pin(z);
    const auto to_end = [&](int n, int e) {
      return decays ? device::exp2_fast(own.end(0) - own.sum(n, 0, e)) : split.of_sums;
    };
    scale_tokens(y, to_end);
    scale_tokens(z, to_end);
    if constexpr (token_decays) add_keys(own_k, y, before);
    if constexpr (decays) scale_keys(change_, {end, end});

    if constexpr (constant_decay) add_tokens(own_q, own_k, x, y, before, valid);

    if constexpr (constant_decay) scale_queries();
    pin(x), pin(y), pin(z), pin(change_);
    products_fence();
    multiply_scores(stage, x, y);
    products_commit();
    multiply_outputs(stage, own_tile(0), z);
    multiply(q, stage.begin + layout.d_o, change_);
    products_wait<1>();
    pin(x), pin(y);

    Columns dq, dk;
    float parts[16];
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      SomeColumns<1> raw_q, raw_k;
      if constexpr (token_decays) raw_q.load(own_q + m * 2048), raw_k.load(own_k + m * 2048);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int n = 2 * m + half;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          dq.set(n, r, x[at(n, r, 0)], x[at(n, r, 1)]);
          dk.set(n, r, y[at(n, r, 0)], y[at(n, r, 1)]);
#pragma unroll
          for (int e = 0; token_decays && e < 2; ++e) {
            const float p =
                raw_q.at(half, r, e) * x[at(n, r, e)] - raw_k.at(half, r, e) * y[at(n, r, e)];
            parts[2 * n + e] = r == 0 ? p : parts[2 * n + e] + p;
          }
        }
      }
    }
    if constexpr (token_decays) {
      store_token_sums(parts);
      store_key_sum(before[0] + before[1]);
    }
    const auto rest = [&](int t) {
      products_fence();
      multiply_keys(stage, stage.begin + layout.k, own_tile(t), z);
      products_commit();
      products_wait<0>();
      pin(z);
      scale_tokens(z, to_end);
      pin(z);
      products_fence();
      multiply_outputs(stage, own_tile(t), z);
    };
    store_results(stage, dq, dk, z, rest);
  }

  template <class Factor>
  __device__ __forceinline__ static void scale_tokens(float (&d)[32], Factor factor) {
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float f = factor(n, e);
        d[at(n, 0, e)] *= f, d[at(n, 1, e)] *= f;
      }
  }

  /// Adds parts of 16 tokens, number 2 n + e, up over the lanes that have the same tokens, and
  /// writes them to this warp's row of the table of tokens. At each step a lane keeps every second
  /// one and gives the others to the lane that keeps them.
  __device__ __forceinline__ void store_token_sums(float (&parts)[16]) const {
#pragma unroll
    for (int step = 0; step < 3; ++step) {
      const bool odd = lane_ >> (2 + step) & 1;
#pragma unroll
      for (int i = 0; i < 8 >> step; ++i) {
        const float kept = odd ? parts[2 * i + 1] : parts[2 * i];
        const float given = odd ? parts[2 * i] : parts[2 * i + 1];
        parts[i] = kept + __shfl_xor_sync(0xffffffffu, given, 4 << step);
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int number = lane_ / 4 + 8 * i;
      store_float(token_sum(warp_of_all(), token(number / 2, number % 2)), parts[i]);
    }
  }
  /// Writes the sum over the warp's keys of what all of the chunk's tokens have in common.
  __device__ __forceinline__ void store_key_sum(float sum) const {
    sum += __shfl_xor_sync(0xffffffffu, sum, 4);
    sum += __shfl_xor_sync(0xffffffffu, sum, 8);
    sum += __shfl_xor_sync(0xffffffffu, sum, 16);
    if (lane_ == 0) store_float(diagonal(warp_of_all()), sum);
  }
  /// The gradients of the tokens' decays from the parts of all warps, by one warp. All warps must
  /// have passed a barrier since they wrote theirs, and none may have written those of the next one.
  __device__ __forceinline__ void finish_decays(int c) const {
    const int valid = block_.valid(c);
    float sum[2] = {}, all = 0.0f;
#pragma unroll
    for (int w = 0; w < 4 * groups; ++w) {
      sum[0] += load_float(token_sum(w, 2 * lane_)),
          sum[1] += load_float(token_sum(w, 2 * lane_ + 1));
      all += load_float(diagonal(w));
    }
    const float pair = sum[0] + sum[1];
    float behind = pair;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const float next = __shfl_down_sync(0xffffffffu, behind, distance);
      if (lane_ + distance < 32) behind += next;
    }
    behind += all - pair;
    const float d[2] = {behind + pair, behind + sum[1]};
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int t = 2 * lane_ + e;
      if (t >= valid) continue;
      const float gradient = last_own_[e] > strongest && !is_first(c, t) ? d[e] : 0.0f;
      const long long at = 1LL * c * chunk + t;
      if constexpr (all_slices > 1)
        gate_part(of_, block_.slice(), at) = gradient;
      else
        p_.base.d_gate[of_.at(p_.base.inputs.gate_strides, at)] = gradient;
    }
  }
  // --- a constant decay

  /// Adds what pairs of tokens of the chunk have. `d`: q k^T.
  __device__ __forceinline__ void add_pairs(const float (&d)[32]) {
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int i = 16 * warp_ + lane_ / 4 + 8 * r, j = token(n, 0);
        const unsigned pair = load_shared(d_scores() + swizzled(i, 2 * j));
        sum = fmaf(static_cast<float>(i - j) * low_of(pair), d[at(n, r, 0)], sum);
        sum = fmaf(static_cast<float>(i - j - 1) * high_of(pair), d[at(n, r, 1)], sum);
      }
    constant_ += sum;
  }
  /// Adds what tokens have with the states. `x`, `y`: the parts of dq and dk that come from these.
  /// `before`: 2^end rowsum(S (.) D) of the thread's keys.
  __device__ __forceinline__ void add_tokens(unsigned own_q, unsigned own_k, const float (&x)[32],
                                             const float (&y)[32], const float (&before)[2],
                                             int valid) {
    float sum = lane_ % 4 == 0 ? static_cast<float>(valid) * (before[0] + before[1]) : 0.0f;
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      SomeColumns<1> q, k;
      q.load(own_q + m * 2048), k.load(own_k + m * 2048);
#pragma unroll
      for (int pair = 0; pair < 4; ++pair)
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int n = 2 * m + pair / 2, r = pair % 2, t = token(n, e);
          sum = fmaf(static_cast<float>(t + 1) * q.at(n % 2, r, e), x[at(n, r, e)], sum);
          sum = fmaf(static_cast<float>(valid - 1 - t) * k.at(n % 2, r, e), y[at(n, r, e)], sum);
        }
    }
    constant_ += sum;
  }
  /// Leaves the segment's and the slices' part of the gradient.
  __device__ __forceinline__ void store_constant_sum() const {
    double sum = constant_;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (lane_ == 0) store_float(token_sum(0, warp_of_all()), static_cast<float>(sum));
    named_barrier<consumers>(1);
    if (threadIdx.x != 128) return;
    sum = 0.0;
#pragma unroll
    for (int w = 0; w < 4 * groups; ++w) sum += load_float(token_sum(0, w));
    const long long task = block_.segment * sums_of_part(p_.base) + block_.pair;
    sum_of(p_.base, task, keys + block_.slice()) = sum;
  }

  float last_own_[2];      // decays of tokens 2 lane and 2 lane + 1 of the chunk walked last
  double constant_ = 0.0;  // the thread's part of the gradient of a constant decay
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
