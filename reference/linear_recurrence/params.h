#pragma once
// What linear_recurrence.cuh and the host that launches it must agree on. The file includes no
// standard headers, because NVRTC has none.

namespace gla_bench::recurrence {

/// Added to the denominator of a normalized output, after the scale is applied.
constexpr double normalizer_epsilon = 1e-6;

namespace device {

constexpr int columns = 32;         ///< value columns of a block
constexpr int most_warp_rows = 32;  ///< rows of the state that one warp keeps at most
constexpr int segment = 64;         ///< tokens between the states that the backward keeps
constexpr int kinds_of_parts = 3;   ///< of dq, dk and the gradients of log decays

/// The single argument of the kernels, passed by value.
template <class real_t>
struct Params {
  const float* q;
  const float* k;
  const float* v;
  const float* gate;                ///< log decays; null: none
  const float* bonus;               ///< [H,K]; null: none
  const float* boundaries;          ///< of ragged sequences, whole numbers below 2^24; null: none
  const float* initial_state;       ///< null: zero
  const float* initial_normalizer;  ///< null: zero
  real_t* o;
  real_t* final_state;       ///< null: not asked for
  real_t* final_normalizer;  ///< null: not asked for
  real_t* states;            ///< null: none
  real_t* normalizers;       ///< beside `states`; null: none
  // Of the backward alone.
  const float* d_o;
  const float* d_final_state;  ///< null: zero
  real_t *dq, *dk, *dv;
  real_t* d_gate;
  real_t* d_bonus;
  real_t* d_initial_state;  ///< null: not asked for
  /// [segments,H,K,V]: the state before every `segment`-th token of a sequence. Of a sequence that
  /// begins at token b, number b / segment + its own number is the first. Null: not asked for.
  real_t* kept;
  real_t* walked;      ///< of each block, the states before and behind the tokens of a segment
  real_t* parts;       ///< [kinds_of_parts, column blocks, B T H, K]
  real_t* own;         ///< [B T H]: do.v of a token, with a bonus
  real_t* head_parts;  ///< [sequences, H, column blocks]: of a constant decay's gradient
  long long seq, heads;
  long long rows;       ///< B T H
  long long sequences;  ///< B, or the ragged ones
  long long every;  ///< tokens between `states`
  int value_dim;
  double scale;
};

}  // namespace device
}  // namespace gla_bench::recurrence
