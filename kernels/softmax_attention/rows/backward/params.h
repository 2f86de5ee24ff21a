#pragma once
// The single argument of every kernel of softmax's backward, passed by value on the GPU and on the
// host. The file includes nothing, because NVRTC has no standard headers.

namespace gla_bench {

/// dx = scale y (dy - the sum of y dy) along each row. y, dy and dx are [rows, columns] in io_t
/// with contiguous rows.
struct SoftmaxBackwardParams {
  const void* y;
  const void* dy;
  void* dx;
  float* sums;  ///< of y dy, of each block of each row; null where no block leaves its sum behind
  long long rows, columns;
  float scale;
};

}  // namespace gla_bench
