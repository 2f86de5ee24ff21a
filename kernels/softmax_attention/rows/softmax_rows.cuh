#pragma once
// What the kernels of softmax over rows share: rows divided among threads in vectors, and the pair
// (reference, sum) of a part of a row. Such pairs may be merged in any order.
//
// All exponents are in units of log2, relative to the rounded product reference = max(x) * factor.
// Every term of a row uses the same rounded number, so its error cancels in the quotient. A part
// that holds only -inf has reference -inf and sum 0. Its exponents are formed relative to 0.

#include "device/math.cuh"
#include "device/types.cuh"
#include "softmax_attention/params.h"

namespace gla_bench::softmax_attention {

/// The sum of 2^(logit - reference) over a part of a row, where reference is its largest logit.
struct PartialSum {
  float reference, sum;  // no initializers: shared memory allows none

  static __device__ __forceinline__ PartialSum of_nothing() {
    return {device::minus_infinity(), 0.0f};
  }

  /// The number that exponents are relative to. It is finite even for a part that holds only -inf.
  __device__ __forceinline__ float base() const {
    return reference == device::minus_infinity() ? 0.0f : reference;
  }
  __device__ __forceinline__ void merge(const PartialSum& other) {
    const PartialSum both{fmaxf(reference, other.reference), 0.0f};
    sum = sum * device::exp2_fast(reference - both.base()) +
          other.sum * device::exp2_fast(other.reference - both.base());
    reference = both.reference;
  }
  /// 1 / sum, or 0 for a part that holds only -inf.
  __device__ __forceinline__ float inverse() const { return sum == 0.0f ? 0.0f : 1.0f / sum; }
};

/// Gives the merged sum of `lanes` neighbouring lanes of a warp to all of them.
template <int lanes>
__device__ __forceinline__ PartialSum merge_lanes(PartialSum part) {
#pragma unroll
  for (int lane = lanes / 2; lane > 0; lane /= 2)
    part.merge({__shfl_xor_sync(0xffffffffu, part.reference, lane),
                __shfl_xor_sync(0xffffffffu, part.sum, lane)});
  return part;
}

/// Gives the merged sum of `threads` neighbouring threads (a power of two, at least 32) to all of
/// them. Every thread of the block must call this. `scratch` has one place for each warp of the
/// block.
template <int threads>
__device__ __forceinline__ PartialSum merge_threads(PartialSum part, PartialSum* scratch) {
  part = merge_lanes<32>(part);
  if constexpr (threads > 32) {
    constexpr int warps = threads / 32;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    __syncthreads();
    if (lane == 0) scratch[warp] = part;
    __syncthreads();
    part = lane < warps ? scratch[warp / warps * warps + lane] : PartialSum::of_nothing();
    part = merge_lanes<32>(part);
  }
  return part;
}

/// The factor of a row's elements: logit (log2) = sign * x * factor, with factor > 0.
struct Factor {
  float sign, value;

  __device__ __forceinline__ explicit Factor(float scale)
      : sign(scale < 0.0f ? -1.0f : 1.0f), value(fabsf(scale) * device::log2_e) {}
};

/// `width` neighbouring elements of a row as floats times the factor's sign. Elements past the
/// row's end are -inf.
template <int width>
struct Elements {
  float x[width];

  __device__ __forceinline__ void load(const io_t* row, long long index, bool valid,
                                       const Factor& factor) {
    if (valid) {
      const auto pack = reinterpret_cast<const device::Pack<io_t, width>*>(row)[index];
#pragma unroll
      for (int n = 0; n < width; ++n) x[n] = factor.sign * device::to_float(pack.value[n]);
    } else {
#pragma unroll
      for (int n = 0; n < width; ++n) x[n] = device::minus_infinity();
    }
  }
  __device__ __forceinline__ float largest() const {
    float top = x[0];
#pragma unroll
    for (int n = 1; n < width; ++n) top = fmaxf(top, x[n]);
    return top;
  }
  /// The sum of 2^(logit - base).
  __device__ __forceinline__ float exponentials(const Factor& factor, float base) const {
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < width; ++n) sum += device::exp2_fast(fmaf(x[n], factor.value, -base));
    return sum;
  }
  __device__ __forceinline__ void store(io_t* row, long long index, const Factor& factor,
                                        float base, float inverse) const {
    device::Pack<io_t, width> pack;
#pragma unroll
    for (int n = 0; n < width; ++n)
      pack.value[n] =
          device::from_float<io_t>(inverse * device::exp2_fast(fmaf(x[n], factor.value, -base)));
    reinterpret_cast<device::Pack<io_t, width>*>(row)[index] = pack;
  }
};

/// A row and the thread's place in it. `threads` threads take its vectors in turn, four at a time.
template <int threads, int width>
struct Row {
  const io_t* x;
  io_t* y;
  long long vectors;
  Factor factor;

  __device__ __forceinline__ Row(const SoftmaxParams& p, long long row)
      : x(static_cast<const io_t*>(p.x) + row * p.columns),
        y(static_cast<io_t*>(p.y) + row * p.columns),
        vectors(row < p.rows ? p.columns / width : 0),
        factor(p.scale) {}

  /// Calls body(elements, index of the vector, whether it lies in the row) for each of the thread's
  /// vectors.
  template <typename Body>
  __device__ __forceinline__ void each(const Body& body) const {
    constexpr int batch = 4;
    for (long long first = threadIdx.x % threads; first < vectors; first += batch * threads) {
      Elements<width> elements[batch];
#pragma unroll
      for (int n = 0; n < batch; ++n)
        elements[n].load(x, first + n * threads, first + n * threads < vectors, factor);
#pragma unroll
      for (int n = 0; n < batch; ++n)
        body(elements[n], first + n * threads, first + n * threads < vectors);
    }
  }
  /// The last pass of every variant: reads, divides and writes each element.
  __device__ __forceinline__ void write(const PartialSum& all) const {
    const float base = all.base(), inverse = all.inverse();
    each([&](const Elements<width>& elements, long long index, bool inside) {
      if (inside) elements.store(y, index, factor, base, inverse);
    });
  }
};

}  // namespace gla_bench::softmax_attention
