#pragma once
// The single argument of the kernels of the layer's backward. The file includes nothing but the
// forward's, because NVRTC has no standard headers.

#include "kernels/gla_layer/params.h"

namespace gla_bench {

/// The forward's tensors, of which y is null but in training, with `gated` from it; and gradients. Matrices are
/// row-major and contiguous, in io_t unless they are float.
struct GlaLayerGradients {
  GlaLayerParams layer;
  const void* dy;                                                       ///< [rows,d]
  void* dx;                                                             ///< [rows,d]
  float *dw_q, *dw_k, *dw_v, *dw_1, *dw_2, *db_g, *dw_r, *db_r, *dw_o;  ///< as the weights lie
  void* d_gated;  ///< workspace, [rows,M], as are d_o, dr and dv
  void* d_o;
  void* dr;
  void *dq, *dk, *dv;  ///< workspace, from the backward of gla
  const float* dg;     ///< workspace, [rows,N]
  void* dz;            ///< workspace, [rows,N], times the divisor
  void* d_low;         ///< workspace, [rows,16], times the divisor
  float* dx_sums;      ///< workspace, [rows,d]
};

}  // namespace gla_bench
