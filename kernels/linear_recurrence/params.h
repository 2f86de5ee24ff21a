#pragma once
// The single argument of every kernel of the linear-recurrence family, passed by value, on the GPU
// and on the host. Includes no standard headers, because NVRTC has none.

#include "kernels/token_strides.h"

namespace gla_bench {

/// Distances in elements within the states: from one sequence and head to the next, and along K and
/// V.
struct StateStrides {
  long long sequence, key, value;
};

/// Parameters of S_t = decay_t (.) S_{t-1} + k_t v_t^T, which q_t reads. family.hpp's Member and
/// the constants of namespace trait say which decay applies, when, and with what else.
///
/// q, k: [B,T,H,K]; v, o: [B,T,H,V] in io_t. States: [N,H,K,V] in float32 (in bfloat16 where
/// trait::state_bytes is 2; cast the pointers). Ragged (cu_seqlens): B = 1, and sequence n has the
/// tokens [cu_seqlens[n], cu_seqlens[n+1]).
///
/// The states between: [B, seq / states_every, H, K, V]. The state after min((i + 1) states_every,
/// all) tokens of sequence n has the place p + i of B seq / states_every, where p is n (seq /
/// states_every) or, ragged, cu_seqlens[n] / states_every. Its places end where those of sequence
/// n + 1 begin.
struct LinearRecurrenceParams {
  const void* q;
  const void* k;
  const void* v;
  const void* g;                    ///< log decay [B,T,H,K] or [B,T,H] in gate_t; null: none
  const float* log_decay;           ///< [H], of each token alike; null: none
  const void* u;                    ///< bonus [H,K] in io_t; null: none
  const int* cu_seqlens;            ///< [sequences + 1]; null: every sequence has `seq` tokens
  const float* initial_state;       ///< null: zero
  const float* initial_normalizer;  ///< z, float32 [N,H,K]; null: zero
  void* o;
  float* final_state;          ///< null: not asked for; may be initial_state, read before written
  float* final_normalizer;     ///< null: not asked for
  float* states;               ///< null: there are none between
  float* normalizers;          ///< beside `states`, float32 [B, seq / states_every, H, K]
  void* work[6];               ///< workspace regions in the variant's own order
  TokenStrides key_strides;    ///< of q, k
  TokenStrides value_strides;  ///< of v
  TokenStrides gate_strides;   ///< of g
  StateStrides state_strides;
  long long batch, seq, heads;
  long long sequences;     ///< N: batch, or the ragged sequences
  long long states_every;  ///< tokens between `states`; 0: there are none
  int key_dim, value_dim;  ///< for the host; kernels have them as dim::key_dim, dim::value_dim
  float scale;
  float epsilon;                ///< added to a normalized output's denominator
  TokenStrides output_strides;  ///< of o
};

}  // namespace gla_bench
