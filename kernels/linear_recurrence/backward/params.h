#pragma once
// The single argument of every backward kernel of the linear-recurrence family, passed by value, on
// the GPU and on the host. Includes no standard headers, because NVRTC has none.

#include "kernels/linear_recurrence/params.h"

namespace gla_bench {

/// The forward's parameters, the gradients of its outputs and those of its inputs.
/// reference/linear_recurrence/backward/backward.hpp has the formulas.
struct GradientParams {
  LinearRecurrenceParams inputs;  ///< what is an output of the forward is null
  const void* d_o;
  const void* d_final_state;        ///< null: not given
  const float* d_final_normalizer;  ///< null: not given
  void *dq, *dk, *dv;
  float* d_gate;  ///< as the gates lie, in float32; [H] for constant decays; null: none
  float* du;
  void* d_initial_state;        ///< null: not asked for
  float* d_initial_normalizer;  ///< null: not asked for
  TokenStrides key_strides;     ///< of dq and dk
  TokenStrides value_strides;   ///< of dv and do
  float* d_outputs;             ///< workspace, gradients of numerators and denominators; or null
  double* sums;                 ///< workspace, what each task adds to sums over tokens; or null
};

}  // namespace gla_bench
