#pragma once
// The one argument of every kernel of the linear-recurrence family, by value, on the GPU and on the
// host. Includes nothing: NVRTC has no standard headers.

namespace gla_bench {

/// Distances in elements between neighbours along each axis of a tensor with token axes.
/// The last axis is contiguous.
struct TokenStrides {
  long long batch, seq, heads;
};

/// S_t = diag(exp(g_t)) S_{t-1} + k_t v_t^T;  o_t = scale S_t^T q_t.
/// q, k, g: [B,T,H,K]; v, o: [B,T,H,V] in io_t; states: float32 [B,H,K,V].
struct LinearRecurrenceParams {
  const void* q;
  const void* k;
  const void* v;
  const void* g;
  const float* initial_state;  ///< null: zero
  void* o;
  float* final_state;          ///< null: not asked for
  void* work[6];               ///< workspace regions in the variant's own order
  TokenStrides key_strides;    ///< of q, k, g
  TokenStrides value_strides;  ///< of v, o
  long long batch, seq, heads;
  int key_dim, value_dim;  ///< for the host; kernels have them as dim::key_dim, dim::value_dim
  float scale;
};

}  // namespace gla_bench
