#pragma once
// What the walks back over a sequence's chunks share: where things are, the gradient of the state,
// and the products that do not depend on how the decays come in.
//
// Names: S is the state before the chunk, D the gradient of the state behind it. b is the sum of
// the decays up to a token, in bits, and `end` that of the whole chunk; a query reads the state at
// b' (b, or with a bonus the sum before its own decay).
//
//   A = tril(scale q k^T 2^(b' - b)), dA = tril(scale do v^T 2^(b' - b))
//   dq = scale 2^b' (.) (S do) + dA k,  dk = 2^(end - b) (.) (D v) + dA^T q
//   dv = A^T do + 2^(end - b) D^T k
//   D before the chunk = 2^end D + scale (2^b' q)^T do
//   d_decay at token t = 2^end rowsum(S (.) D) + sum over all tokens of 2^(end - b) k (D v)
//                        + sum from t on of (q dq - k dk)
//
// In the last line, pairs of tokens that are both from t on appear twice, with opposite signs. They
// cancel to float32's resolution, because the same rounded operands form both.
//
// Without decays D is kept without a part of the scale (SplitScale in rows.cuh), by which dk, dv and
// the gradient of the initial state are then multiplied.

#include "linear_recurrence/backward/sm90/scores.cuh"
#include "linear_recurrence/backward/sm90/segments.cuh"
#include "linear_recurrence/backward/sums.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// A warpgroup that owns 64 keys of D, in float32.
class GradientWalk : protected OwnKeys<Pass::gradients> {
 protected:
  using OwnKeys::OwnKeys;

  // --- places

  __device__ __forceinline__ int token(int n, int e) const { return 8 * n + lane_ % 4 * 2 + e; }
  __device__ __forceinline__ unsigned scores() const { return block_.shared + layout.scores; }
  __device__ __forceinline__ unsigned d_scores() const { return block_.shared + layout.d_scores; }
  __device__ __forceinline__ unsigned level() const { return block_.shared + layout.level; }
  __device__ __forceinline__ unsigned change_tile(int t) const {
    return block_.shared + layout.change + t * layout.change_tile;
  }
  __device__ __forceinline__ unsigned diagonal(int token) const {
    return block_.shared + layout.diagonal + 4 * token;
  }
  __device__ __forceinline__ unsigned d_diagonal(int token) const {
    return block_.shared + layout.d_diagonal + 4 * token;
  }
  __device__ __forceinline__ unsigned token_sum(int warp, int token) const {
    return block_.shared + layout.token_sums + 4 * (warp * chunk + token);
  }
  /// Tiles of V whose dv the group forms. With one tile and two groups, both form it.
  static constexpr bool one_each = groups == 2 && layout.key_tiles == value_tiles;
  static constexpr int own_tiles = (value_tiles + groups - 1) / groups;
  __device__ __forceinline__ int own_tile(int t) const {
    return value_tiles >= groups ? group() + t * groups : 0;
  }
  __device__ __forceinline__ bool has_tiles() const { return group() < value_tiles; }

  __device__ __forceinline__ static float sum_of_quarters(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
  }

  // --- the state and its gradient

  __device__ __forceinline__ void begin() {
    for_each_element(
        [&](int i, int row, int column) {
          change_[i] = of_.final_gradient(row, column);
          if constexpr (!decays) change_[i] /= SplitScale(p_.base.inputs.scale).of_sums;
        });
    for (int n = segments - 1; n > block_.segment; --n)
      pass_segment(p_.base, block_, n, true, key(0), change_);
  }
  /// The state before chunk c, as operands A of products over V.
  __device__ __forceinline__ void load_state(int c, unsigned (&state)[width64 / 4]) const {
    const uint4* from = block_.kept(p_.base, c, warp_of_all());
#pragma unroll
    for (int n = 0; n < layout.value_blocks; ++n) {
      const uint4 four = block_.keeps(warp_of_all(), n) ? from[32 * n] : uint4{};
      state[4 * n] = four.x, state[4 * n + 1] = four.y;
      state[4 * n + 2] = four.z, state[4 * n + 3] = four.w;
    }
  }
  /// rowsum(S (.) D) of the thread's keys.
  __device__ __forceinline__ void multiply_states(const unsigned (&state)[width64 / 4],
                                                  float (&sum)[2]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] = 0.0f;
#pragma unroll
      for (int n = 0; n < width64 / 8; ++n) {
        const unsigned pair = state[4 * (n / 2) + n % 2 * 2 + r];
        sum[r] = fmaf(low_of(pair), change_[at(n, r, 0)], sum[r]);
        sum[r] = fmaf(high_of(pair), change_[at(n, r, 1)], sum[r]);
      }
      sum[r] = sum_of_quarters(sum[r]);
    }
  }
  /// Writes D in bfloat16.
  __device__ __forceinline__ void publish_change() const {
    const unsigned row = 64 * group() + 16 * warp_ + lane_ / 8 % 2 * 8 + lane_ % 8;
#pragma unroll
    for (int n = 0; n < width64 / 8; n += 2) {
      const float* d = change_ + 4 * n;
      store_matrices(change_tile(n / 8) + swizzled(row, 16 * (n % 8 + lane_ / 16)),
                     pack(d[0], d[1]), pack(d[2], d[3]), pack(d[4], d[5]), pack(d[6], d[7]));
    }
  }

  // --- products

  /// S do, begun.
  template <class By = ByWarpgroup>
  __device__ __forceinline__ void read_state(const Stage& stage,
                                             const unsigned (&state)[width64 / 4],
                                             float (&x)[32]) const {
    By::fence();
#pragma unroll
    for (int n = 0; n < layout.value_blocks; ++n) {
      const unsigned a[4] = {state[4 * n], state[4 * n + 1], state[4 * n + 2], state[4 * n + 3]};
      By::template Of<64>::template registers<along_k>(
          x, a, operand(stage.begin + layout.d_o + n / 4 * tile_bytes + n % 4 * 32), n > 0);
    }
    By::commit();
  }

  /// Forms A and dA, and stores them as score(element, i, j) and gradient(element, i, j) say for
  /// queries i and keys j. With two groups of warps and as many keys as values, each of them
  /// forms one. Otherwise all form both, because products must not stand behind a branch.
  template <class By = ByWarpgroup, class Score, class Gradient>
  __device__ __forceinline__ void form_scores(const Stage& stage, float (&d)[32], Score score,
                                              Gradient gradient) const {
    const unsigned q = stage.begin + layout.q, k = stage.begin + layout.k;
    const unsigned d_o = stage.begin + layout.d_o, v = stage.begin + layout.v;
    if constexpr (one_each) {
      const bool first = group() == 0;
      multiply_rows<value_tiles, By>(d, first ? q : d_o, first ? k : v);
      By::template wait<0>();
      pin(d);
      first ? store_square(scores(), d, score) : store_square(d_scores(), d, gradient);
    } else {
      multiply_rows<value_tiles, By>(d, d_o, v);
      By::template wait<0>();
      pin(d);
      if (group() == groups - 1) store_square(d_scores(), d, gradient);
      multiply_rows<layout.key_tiles, By>(d, q, k);
      By::template wait<0>();
      pin(d);
      if (group() == 0) store_square(scores(), d, score);
    }
  }

  /// Adds sum over tokens of k~ y. `k`: the warp's scaled keys.
  __device__ __forceinline__ static void add_keys(unsigned k, const float (&y)[32],
                                                  float (&sum)[2]) {
    float own[2] = {};
#pragma unroll
    for (int m = 0; m < 4; ++m) {
      SomeColumns<1> keys_of;
      keys_of.load(k + m * 2048);
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        const int n = 2 * m + pair / 2, r = pair % 2;
        own[r] = fmaf(keys_of.at(n % 2, r, 0), y[at(n, r, 0)], own[r]);
        own[r] = fmaf(keys_of.at(n % 2, r, 1), y[at(n, r, 1)], own[r]);
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) sum[r] += sum_of_quarters(own[r]);
  }

  /// Y = D~ v, begun.
  template <class By = ByWarpgroup>
  __device__ __forceinline__ void multiply_change(const Stage& stage, float (&y)[32]) const {
#pragma unroll
    for (int m = 0; m < 4 * value_tiles; ++m)
      By::template Of<64>::template shared<along_k>(
          y, operand(change_tile(m / 4) + group() * tile_bytes + m % 4 * 32),
          operand(stage.begin + layout.v + m / 4 * tile_bytes + m % 4 * 32), m > 0);
  }
  /// D^T k of one tile of V, [columns, tokens], begun. `k`: the keys' tiles.
  template <class By = ByWarpgroup>
  __device__ __forceinline__ void multiply_keys(const Stage& stage, unsigned k, int t,
                                                float (&z)[32]) const {
#pragma unroll
    for (int m = 0; m < 4 * layout.key_tiles; ++m)
      By::template Of<64>::template shared<along_k, along_mn>(
          z, operand(change_tile(t) + m * 2048), operand(k + m / 4 * tile_bytes + m % 4 * 32),
          m > 0);
  }
  /// z + A^T do of one tile of V, begun.
  template <class By = ByWarpgroup>
  __device__ __forceinline__ void multiply_outputs(const Stage& stage, int t,
                                                   float (&z)[32]) const {
#pragma unroll
    for (int m = 0; m < 4; ++m)
      By::template Of<64>::template shared<along_mn, along_mn>(
          z, operand(stage.begin + layout.d_o + t * tile_bytes + m * 2048),
          operand(scores() + m * 2048), true);
  }
  /// x + dA k and y + dA^T q of the group's keys, begun.
  template <class By = ByWarpgroup>
  __device__ __forceinline__ void multiply_scores(const Stage& stage, float (&x)[32],
                                                  float (&y)[32]) const {
    const unsigned q = stage.begin + layout.q + group() * tile_bytes;
    const unsigned k = stage.begin + layout.k + group() * tile_bytes;
#pragma unroll
    for (int m = 0; m < 4; ++m)
      By::template Of<64>::template shared<along_k, along_mn>(x, operand(k + m * 2048),
                                                              operand(d_scores() + m * 32), true);
#pragma unroll
    for (int m = 0; m < 4; ++m)
      By::template Of<64>::template shared<along_mn, along_mn>(
          y, operand(q + m * 2048), operand(d_scores() + m * 2048), true);
  }

  /// Waits for all products, and puts the results where the chunk's tiles were. `z` is dv of the
  /// group's first tile of V; rest(t) begins the products of its tile t.
  template <class By = ByWarpgroup, class Rest>
  __device__ __forceinline__ void store_results(const Stage& stage, const Columns& dq,
                                                const Columns& dk, float (&z)[32], Rest rest) {
    Columns dv[own_tiles];
    By::template wait<0>();
    pin(z), pin(change_);
#pragma unroll
    for (int t = 0; t < own_tiles; ++t) {
      if (t > 0) {
        rest(t);
        By::commit();
        By::template wait<0>();
        pin(z);
      }
#pragma unroll
      for (int i = 0; i < 16; ++i) dv[t].words[i] = pack(z[2 * i], z[2 * i + 1]);
    }
    named_barrier<consumers>(1);  // nobody reads the tiles any more
    dq.store(own_columns(stage.begin + layout.q));
    dk.store(own_columns(stage.begin + layout.k));
#pragma unroll
    for (int t = 0; t < own_tiles; ++t)
      if (has_tiles())
        dv[t].store(
            Columns::place(stage.begin + layout.v + own_tile(t) * tile_bytes, column_in_tile()));
    publish_shared();
    barrier_arrive(stage.finished());
  }

  // --- the end

  /// Whether a token's state before it is zero, so that its decay has no gradient.
  __device__ __forceinline__ bool is_first(int c, int t) const {
    return c == 0 && t == 0 && p_.base.inputs.initial_state == nullptr;
  }
  __device__ __forceinline__ void store_initial_gradients() const {
    if (block_.segment > 0) return;
    for_each_element(
        [&](int i, int row, int column) {
          float change = change_[i];
          if constexpr (!decays) change *= SplitScale(p_.base.inputs.scale).of_sums;
          of_.store_initial_gradient(row, column, change);
        });
  }

  float change_[width64 / 2] = {};  // D
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
