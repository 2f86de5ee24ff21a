#pragma once
// What the walks forwards share, and the one that forms what each segment of a sequence adds to the
// state behind it and to the gradient of the state before it.
//
// With S and D as in walk.cuh and B the bits from the begin of the segment to that of the chunk, a
// chunk takes S to 2^end S + (2^(end - b) k)^T v, and adds scale (2^(B + b') q)^T do to the
// gradient of the state before the segment. No factor is above 1, however strong the decays are.

#include "linear_recurrence/backward/sm90/own_keys.cuh"

namespace gla_bench::linear_recurrence::backward::sm90 {

/// What segment `number` makes of a state before it or, with `change`, of the gradient of one
/// behind it. `row`: the first of the thread's two keys.
template <Pass pass>
__device__ __forceinline__ void pass_segment(const GradientParams& g, const Block<pass>& block,
                                             int number, bool change, int row,
                                             float (&x)[width64 / 2]) {
  const float4* sums = block.segment_sum(g, number, change);
  float factor[2] = {1.0f, 1.0f};
#pragma unroll
  for (int r = 0; decays && r < 2; ++r) factor[r] = block.segment_factor(g, number, row + 8 * r);
#pragma unroll
  for (int i = 0; i < width64 / 8; ++i) {
    const float4 sum = sums[i * consumers];
    x[4 * i] = fmaf(factor[0], x[4 * i], sum.x);
    x[4 * i + 1] = fmaf(factor[0], x[4 * i + 1], sum.y);
    x[4 * i + 2] = fmaf(factor[1], x[4 * i + 2], sum.z);
    x[4 * i + 3] = fmaf(factor[1], x[4 * i + 3], sum.w);
  }
}

/// Slices that have sums over tokens of their own: of du those of V, while all that a segment has
/// of the gradient of a constant decay lies side by side.
inline constexpr int parts_of_sums = bonus ? value_slices : 1;
/// Sums over the tokens of each sequence and head that a segment and such a slice has.
__device__ __forceinline__ long long sums_of_part(const GradientParams& g) {
  return g.inputs.sequences * g.inputs.heads;
}

/// A warpgroup that owns the state of 64 keys.
template <Pass pass>
class StateWalk : protected OwnKeys<pass> {
 protected:
  using OwnKeys<pass>::block_, OwnKeys<pass>::of_, OwnKeys<pass>::sizes;

  using OwnKeys<pass>::OwnKeys;

  /// S <- 2^end S + (k 2^(end - b))^T v, begun.
  __device__ __forceinline__ void add_keys(const Stage& stage, const ChunkDecays& own,
                                           float (&state)[width64 / 2]) const {
    Columns k;
    k.load(this->own_columns(stage.begin + sizes.k));
    if constexpr (decays) {
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int r = 0; r < 2; ++r)
          k.set(n, r, k.at(n, r, 0) * device::exp2_fast(own.end(r) - own.sum(n, r, 0)),
                k.at(n, r, 1) * device::exp2_fast(own.end(r) - own.sum(n, r, 1)));
      this->scale_keys(state, {device::exp2_fast(own.end(0)), device::exp2_fast(own.end(1))});
    }
    barrier_wait(stage.values_arrived(), stage.parity);
    pin(state);
    this->multiply(k, stage.begin + sizes.v, state);
  }
};

template <Pass pass>
class SegmentSums : StateWalk<pass> {
  using StateWalk<pass>::p_, StateWalk<pass>::block_, StateWalk<pass>::lane_;
  using StateWalk<pass>::sizes;

 public:
  using StateWalk<pass>::StateWalk;

  __device__ __forceinline__ void run() {
    for (int step = 0; step < block_.steps; ++step) add(block_.stage(step), block_.number(step));
    if constexpr (sizes.inputs) store(false, state_);
    store(true, change_);
#pragma unroll
    for (int r = 0; decays && r < 2; ++r)
      if (lane_ % 4 == 0)
        block_.segment_factor(p_.base, block_.segment, this->key(r)) =
            device::exp2_fast(before_[r]);
  }

 private:
  __device__ __forceinline__ void add(const Stage& stage, int c) {
    barrier_wait(stage.keys_arrived(), stage.parity);
    ChunkDecays own;
    this->load_decays(stage, c, own);
    if constexpr (sizes.inputs) this->add_keys(stage, own, state_);
    Columns q;
    q.load(this->own_columns(stage.begin + sizes.q));
    const float scale = SplitScale(p_.base.inputs.scale).of_queries;
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int r = 0; r < 2; ++r)
        q.set(n, r, scale * query_factor(own, n, r, 0) * q.at(n, r, 0),
              scale * query_factor(own, n, r, 1) * q.at(n, r, 1));
    if constexpr (!sizes.inputs) barrier_wait(stage.values_arrived(), stage.parity);
    pin(change_);
    this->multiply(q, stage.begin + sizes.d_o, change_);
#pragma unroll
    for (int r = 0; r < 2; ++r) before_[r] += own.end(r);
    products_wait<0>();
    pin(change_);
    if constexpr (sizes.inputs) pin(state_);
    barrier_arrive(stage.finished());
  }
  template <class Decays>
  __device__ __forceinline__ float query_factor(const Decays& own, int n, int r, int e) const {
    if constexpr (!decays) return 1.0f;
    float bits = own.sum(n, r, e);
    if constexpr (bonus) bits -= typename Decays::Own(own, n / 2).bits(n, r, e);
    return device::exp2_fast(before_[r] + bits);
  }
  __device__ __forceinline__ void store(bool change, const float (&x)[width64 / 2]) const {
    float4* to = block_.segment_sum(p_.base, block_.segment, change);
#pragma unroll
    for (int i = 0; i < width64 / 8; ++i)
      to[i * consumers] = {x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]};
  }

  float state_[sizes.inputs ? width64 / 2 : 1] = {};  // where it is asked for
  float change_[width64 / 2] = {};  // of the gradient of the state before the segment
  float before_[2] = {};            // bits of the segment's chunks before this one
};

}  // namespace gla_bench::linear_recurrence::backward::sm90
