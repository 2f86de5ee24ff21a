#pragma once
// What linear_recurrence.cuh and the host that launches it must agree on. The file includes no
// standard headers, because NVRTC has none.

namespace gla_bench::recurrence {

/// Added to the denominator of a normalized output, after the scale is applied.
constexpr double normalizer_epsilon = 1e-6;

namespace device {

constexpr int columns = 32;         ///< value columns of a block
constexpr int most_warp_rows = 32;  ///< rows of the state that one warp keeps at most

/// The single argument of the kernel, passed by value.
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
  long long seq, heads;
  long long every;  ///< tokens between `states`
  int value_dim;
  double scale;
};

}  // namespace device
}  // namespace gla_bench::recurrence
