#pragma once
// What the layer's kernels share: packs of elements, the two activations, and a head's row of
// values spread over lanes.

#include "device/math.cuh"
#include "device/types.cuh"
#include "gla_layer/layout.h"
#include "gla_layer/params.h"

namespace gla_bench::gla_layer {

inline constexpr KernelLayout sizes{dim::key_dim, dim::value_dim, static_cast<int>(sizeof(io_t))};

template <int n, typename T>
__device__ __forceinline__ void load_pack(const T* p, float (&x)[n]) {
  const auto pack = *reinterpret_cast<const device::Pack<T, n>*>(p);
#pragma unroll
  for (int i = 0; i < n; ++i) x[i] = device::to_float(pack.value[i]);
}

template <int n, typename T>
__device__ __forceinline__ void store_pack(T* p, const float (&x)[n]) {
  device::Pack<T, n> pack;
#pragma unroll
  for (int i = 0; i < n; ++i) pack.value[i] = device::from_float<T>(x[i]);
  *reinterpret_cast<device::Pack<T, n>*>(p) = pack;
}

/// log(sigmoid(z)). 16-bit problems use the fast functions. Their absolute error of 1e-7 is far
/// below the rounding of the result wherever the result matters. Below e^-7 the logarithm is
/// replaced by its series.
__device__ __forceinline__ float log_sigmoid(float z) {
  if constexpr (sizeof(io_t) == 4) {
    return fminf(z, 0.0f) - log1pf(expf(-fabsf(z)));
  } else {
    const float e = device::exp2_fast(-fabsf(z) * device::log2_e);
    const float near = e * fmaf(e, -0.5f, 1.0f);
    return fminf(z, 0.0f) - (e < 1e-3f ? near : __logf(1.0f + e));
  }
}

/// r sigmoid(r), or -0 where the exponential overflows.
__device__ __forceinline__ float swish(float r) {
  if constexpr (sizeof(io_t) == 4)
    return r / (1.0f + expf(-r));
  else
    return __fdividef(r, 1.0f + __expf(-r));
}

/// The sum over the lanes that share a row, with the same bits in each lane.
__device__ __forceinline__ float row_sum(float x) {
#pragma unroll
  for (int distance = sizes.lanes / 2; distance > 0; distance /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  return x;
}

/// A lane's packs of one row of V values, in registers.
struct RowPart {
  static constexpr int n = sizes.value_pack, packs = sizes.packs_per_lane;
  float x[packs][n];

  /// The first column of a pack. It is at least V where this lane has no such pack.
  static __device__ __forceinline__ int column(int pack) {
    return (pack * sizes.lanes + static_cast<int>(threadIdx.x) % sizes.lanes) * n;
  }
  static __device__ __forceinline__ bool has(int pack) { return column(pack) < dim::value_dim; }

  __device__ __forceinline__ void load(const io_t* row) {
#pragma unroll
    for (int p = 0; p < packs; ++p)
      if (has(p)) load_pack(row + column(p), x[p]);
  }

  /// Replaces x by (x - mean) / sqrt(variance + epsilon), and returns what the difference was
  /// multiplied by. Two passes over registers avoid cancellation.
  __device__ __forceinline__ float normalise(float epsilon) {
    float sum = 0;
#pragma unroll
    for (int p = 0; p < packs; ++p)
#pragma unroll
      for (int i = 0; i < n; ++i) sum += has(p) ? x[p][i] : 0.0f;
    const float mean = row_sum(sum) * (1.0f / dim::value_dim);
    float squares = 0;
#pragma unroll
    for (int p = 0; p < packs; ++p)
#pragma unroll
      for (int i = 0; i < n; ++i) {
        x[p][i] -= mean;
        squares += has(p) ? x[p][i] * x[p][i] : 0.0f;
      }
    const float factor = rsqrtf(row_sum(squares) * (1.0f / dim::value_dim) + epsilon);
#pragma unroll
    for (int p = 0; p < packs; ++p)
#pragma unroll
      for (int i = 0; i < n; ++i) x[p][i] *= factor;
    return factor;
  }
};

}  // namespace gla_bench::gla_layer
