#pragma once
// Strides that the parameters of several families have. Includes nothing: NVRTC has no standard
// headers.

namespace gla_bench {

/// Distances in elements between neighbours along each axis of a tensor with token axes.
/// The last axis is contiguous.
struct TokenStrides {
  long long batch, seq, heads;
};

}  // namespace gla_bench
