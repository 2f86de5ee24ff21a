#pragma once
// The single argument of the layer's own kernels, passed by value on the GPU and on the host. The
// file includes nothing, because NVRTC has no standard headers.

namespace gla_bench {

/// Rows are tokens: rows = batch * seq. Matrices are row-major and contiguous, in io_t unless they
/// are float. With N = heads * K and M = heads * V, the extents are: q, k, g, gate_sums [rows,N];
/// v, r, o, swish, normed, gated [rows,M]; low [rows,16].
struct GlaLayerParams {
  const void* x;    ///< [rows,d]
  const void* w_q;  ///< [d,N]
  const void* w_k;  ///< [d,N]
  const void* w_v;  ///< [d,M]
  const void* w_1;  ///< [d,16]
  const void* w_2;  ///< [16,N]
  const void* b_g;  ///< [N]
  const void* w_r;  ///< [d,M]
  const void* b_r;  ///< [M]
  const void* w_o;  ///< [M,d]
  void* y;          ///< [rows,d]
  void* q;
  void* k;
  void* v;
  void* r;    ///< x W_r, before the bias is added
  void* low;  ///< x W_1
  void* g;
  void* o;
  void* gated;       ///< swish(r + b_r) (.) LN(o)
  float* gate_sums;  ///< low W_2; null where the gate is a single kernel
  float* swish;      ///< null where norm and output gate are a single kernel
  float* normed;     ///< null in the same case
  long long rows, model;
  int heads, key_dim, value_dim;  ///< for the host; kernels have the last two as constants
  float gate_factor;              ///< 1 / divisor
  float epsilon;                  ///< added to the variance
};

}  // namespace gla_bench
