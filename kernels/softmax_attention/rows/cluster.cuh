// cluster: softmax over rows that are read once and written once, whatever their length (sm_90).
//
// Idea: the blocks of a cluster hold a row in their shared memory (ring.cuh). Each forms the pair
// (maximum, sum) of its share. The pairs are exchanged through shared memory and merged, and each
// block replaces its share by the quotients. Where a thread has few elements of a row, it keeps
// their exponentials in registers, so that each is formed once. Narrow rows need no cluster; then a
// block has several rows at a time. With more than one stage blocks stay for many tiles, and the
// copies of the next ones run while a tile is worked on.
//
// Grid: tile::cluster blocks for each tile of rows with one stage, else as many as the
// multiprocessors hold. Shared memory: ring_layout.h. Bytes moved: x once, y once.

#include "softmax_attention/rows/ring.cuh"
#include "softmax_attention/rows/softmax_rows.cuh"

namespace gla_bench::softmax_attention::ring {

template <int lanes>
__device__ __forceinline__ PartialSum sum_of_lanes(PartialSum part) {
  const float own = part.reference;
#pragma unroll
  for (int lane = lanes / 2; lane > 0; lane /= 2)
    part.reference = fmaxf(part.reference, __shfl_xor_sync(0xffffffffu, part.reference, lane));
  part.sum *= device::exp2_fast(own - part.base());
#pragma unroll
  for (int lane = lanes / 2; lane > 0; lane /= 2)
    part.sum += __shfl_xor_sync(0xffffffffu, part.sum, lane);
  return part;
}

/// The sum over all threads of a row, for all of them. Unlike merge_threads() it takes one
/// exponential for each level and not for each step, because rows wait for it.
__device__ __forceinline__ PartialSum sum_of_threads(PartialSum part, PartialSum* scratch) {
  if constexpr (threads <= 32) {
    return sum_of_lanes<threads>(part);
  } else {
    // This branch is compiled, if for nothing, where a row has fewer threads than a warp.
    constexpr int warps = threads > 32 ? threads / 32 : 1;
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    part = sum_of_lanes<32>(part);
    __syncthreads();
    if (lane == 0) scratch[warp] = part;
    __syncthreads();
    return sum_of_lanes<warps>(scratch[warp / warps * warps + lane % warps]);
  }
}

/// One row of a tile, as a thread sees it.
struct RowWork {
  Ring<1>& ring;
  PartialSum* scratch;
  const Factor& factor;

  __device__ __forceinline__ float nothing() const {
    return factor.sign * device::minus_infinity();
  }
  __device__ __forceinline__ PartialSum sum_of_row(const PartialSum& of_thread) const {
    const PartialSum own = sum_of_threads(of_thread, scratch);
    float2 pairs[cluster];
    ring.of_cluster(own.reference, own.sum, pairs);
    PartialSum all = PartialSum::of_nothing();
#pragma unroll
    for (const float2& pair : pairs) all.reference = fmaxf(all.reference, pair.x);
#pragma unroll
    for (const float2& pair : pairs) all.sum += pair.y * device::exp2_fast(pair.x - all.base());
    return all;
  }
  __device__ __forceinline__ float exponential(float x, float base) const {
    return device::exp2_fast(fmaf(x, factor.sign * factor.value, -base));
  }

  /// With the thread's elements in registers.
  template <int vectors>
  __device__ __forceinline__ void held(const Part& part, io_t* buffer) const {
    float x[vectors][width], top = device::minus_infinity();
#pragma unroll
    for (int n = 0; n < vectors; ++n)
#pragma unroll
      for (int i = 0; i < width; ++i) x[n][i] = nothing();
    const bool there = part.begin < part.end;
    if (there) {
#pragma unroll
      for (int n = 0; n < vectors; ++n)
        if (exact || part.vector(n) * width < part.end)
          part.load(buffer, part.vector(n), nothing(), x[n]);
    }
#pragma unroll
    for (int n = 0; n < vectors; ++n)
#pragma unroll
      for (int i = 0; i < width; ++i) top = fmaxf(top, factor.sign * x[n][i]);
    PartialSum sum{top * factor.value, 0.0f};
    const float base = sum.base();
#pragma unroll
    for (int n = 0; n < vectors; ++n)
#pragma unroll
      for (int i = 0; i < width; ++i) {
        x[n][i] = exponential(x[n][i], base);
        sum.sum += x[n][i];
      }
    const PartialSum all = sum_of_row(sum);
    // A thread that has only -inf has no base that could be compared.
    const float by = sum.sum == 0.0f ? 0.0f : all.inverse() * device::exp2_fast(base - all.base());
#pragma unroll
    for (int n = 0; n < vectors; ++n) {
#pragma unroll
      for (int i = 0; i < width; ++i) x[n][i] *= by;
      if (there && (exact || part.vector(n) * width < part.end))
        part.store(buffer, part.vector(n), x[n]);
    }
  }
  /// With the elements in shared memory, which is read three times.
  __device__ __forceinline__ void walked(const Part& part, io_t* buffer) const {
    float top = device::minus_infinity();
    part.each([&](int v) {
      float x[width];
      part.load(buffer, v, nothing(), x);
#pragma unroll
      for (int i = 0; i < width; ++i) top = fmaxf(top, factor.sign * x[i]);
    });
    PartialSum sum{top * factor.value, 0.0f};
    part.each([&](int v) {
      float x[width];
      part.load(buffer, v, nothing(), x);
#pragma unroll
      for (int i = 0; i < width; ++i) sum.sum += exponential(x[i], sum.base());
    });
    const PartialSum all = sum_of_row(sum);
    const float inverse = all.inverse();
    part.each([&](int v) {
      float y[width];
      part.load(buffer, v, nothing(), y);
#pragma unroll
      for (int i = 0; i < width; ++i) y[i] = inverse * exponential(y[i], all.base());
      part.store(buffer, v, y);
    });
  }
};

}  // namespace gla_bench::softmax_attention::ring

extern "C" __global__ void __cluster_dims__(tile::cluster, 1, 1)
    __launch_bounds__(gla_bench::softmax_attention::ring::block_threads, launch::residency)
        softmax_cluster(const __grid_constant__ gla_bench::SoftmaxParams p) {
  using namespace gla_bench::softmax_attention;
  using namespace gla_bench::softmax_attention::ring;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ PartialSum scratch[32];
  Ring<1> ring{{static_cast<const io_t*>(p.x)}, static_cast<io_t*>(p.y), p.rows, p.columns, shared};
  const Factor factor(p.scale);
  const RowWork work{ring, scratch, factor};
  ring.run([&](const Part& part, const Ring<1>::Buffers& buffers) {
    constexpr int vectors = launch::thread_vectors;
    if constexpr (launch::held != 0)
      work.held<vectors>(part, buffers.of[0]);
    else
      work.walked(part, buffers.of[0]);
  });
}
