// cluster: softmax over rows that are read once and written once, whatever their length (sm_90).
//
// Idea: the blocks of a cluster hold a row in their shared memory (ring.cuh). Each forms the pair
// (maximum, sum) of its share. The pairs are exchanged through shared memory and merged, and each
// block replaces its share by the quotients. Where a thread has few elements of a row, it keeps
// their exponentials in registers, so that each is formed once. Narrow rows need no cluster; then a
// block has several rows at a time. With more than one stage blocks stay for many tiles, and the
// copies of the next ones run while a tile is worked on. Wide rows may come and go in pieces
// (pieces.cuh), over which the pair is a running one.
//
// Grid: tile::cluster blocks for each tile of rows with one stage, else as many as the
// multiprocessors hold. Shared memory: ring_layout.h. Bytes moved: x once, y once.

#include "softmax_attention/rows/pieces.cuh"
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
    row_barrier();
    if (lane == 0) scratch[warp] = part;
    row_barrier();
    return sum_of_lanes<warps>(scratch[warp / warps * warps + lane % warps]);
  }
}

/// The sum over all blocks of the cluster.
__device__ __forceinline__ PartialSum sum_of_pairs(const float2 (&pairs)[cluster]) {
  PartialSum all = PartialSum::of_nothing();
#pragma unroll
  for (const float2& pair : pairs) all.reference = fmaxf(all.reference, pair.x);
#pragma unroll
  for (const float2& pair : pairs) all.sum += pair.y * device::exp2_fast(pair.x - all.base());
  return all;
}

/// What elements become.
struct Exponentials {
  Factor factor;

  /// Stands for elements of other rows.
  __device__ __forceinline__ float nothing() const {
    return factor.sign * device::minus_infinity();
  }
  __device__ __forceinline__ float exponential(float x, float base) const {
    return device::exp2_fast(fmaf(x, factor.sign * factor.value, -base));
  }
  /// The last pass: quotients take the place of elements.
  __device__ __forceinline__ void write(const Part& part, io_t* buffer,
                                        const PartialSum& all) const {
    const float base = all.base(), inverse = all.inverse();
    part.each([&](int v) {
      float y[width];
      part.load(buffer, v, nothing(), y);
#pragma unroll
      for (int i = 0; i < width; ++i) y[i] = inverse * exponential(y[i], base);
      part.store(buffer, v, y);
    });
  }
};

/// One row of a tile, as a thread sees it.
struct RowWork : Exponentials {
  Ring<1>& ring;
  PartialSum* scratch;

  __device__ __forceinline__ RowWork(const Factor& its_factor, Ring<1>& its_ring,
                                     PartialSum* its_scratch)
      : Exponentials{its_factor}, ring(its_ring), scratch(its_scratch) {}

  __device__ __forceinline__ PartialSum sum_of_row(const PartialSum& of_thread) const {
    const PartialSum own = sum_of_threads(of_thread, scratch);
    float2 pairs[cluster];
    ring.of_cluster(own.reference, own.sum, pairs);
    return sum_of_pairs(pairs);
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
    write(part, buffer, sum_of_row(sum));
  }
};

/// A row in pieces. The sum is rescaled where a piece has a larger logit than those before.
struct PieceWork : Exponentials {
  PartialSum* scratch;
  PartialSum of_thread, of_row;

  __device__ __forceinline__ PieceWork(const Factor& its_factor, PartialSum* its_scratch)
      : Exponentials{its_factor}, scratch(its_scratch) {}

  __device__ __forceinline__ void begin() { of_thread = PartialSum::of_nothing(); }
  __device__ __forceinline__ void sum(const Part& part, const Pieces<1>::Buffers& buffers) {
    part.each([&](int v) {
      float x[width], top = device::minus_infinity();
      part.load(buffers.of[0], v, nothing(), x);
#pragma unroll
      for (int i = 0; i < width; ++i) top = fmaxf(top, factor.sign * x[i]);
      PartialSum next{fmaxf(of_thread.reference, top * factor.value), 0.0f};
      const float base = next.base();
      next.sum = of_thread.sum * device::exp2_fast(of_thread.reference - base);
#pragma unroll
      for (int i = 0; i < width; ++i) next.sum += exponential(x[i], base);
      of_thread = next;
    });
  }
  __device__ __forceinline__ float2 total() const {
    const PartialSum all = sum_of_threads(of_thread, scratch);
    return make_float2(all.reference, all.sum);
  }
  __device__ __forceinline__ void exchange(const float2 (&pairs)[cluster]) {
    of_row = sum_of_pairs(pairs);
  }
  __device__ __forceinline__ void write(const Part& part, const Pieces<1>::Buffers& buffers) const {
    Exponentials::write(part, buffers.of[0], of_row);
  }
};

}  // namespace gla_bench::softmax_attention::ring

extern "C" __global__ void __cluster_dims__(tile::cluster, 1, 1)
    __launch_bounds__(launch::launched_threads, launch::residency)
        softmax_cluster(const __grid_constant__ gla_bench::SoftmaxParams p) {
  using namespace gla_bench::softmax_attention;
  using namespace gla_bench::softmax_attention::ring;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ PartialSum scratch[32];
  const auto* x = static_cast<const io_t*>(p.x);
  auto* y = static_cast<io_t*>(p.y);
  const Factor factor(p.scale);
  if constexpr (launch::pieces > 0) {
    PieceWork work(factor, scratch);
    const Pieces<1> pieces{{x}, y, p.rows, p.columns, shared};
    pieces.run(work);
  } else {
    Ring<1> ring{{x}, y, p.rows, p.columns, shared};
    const RowWork work(factor, ring, scratch);
    ring.run([&](const Part& part, const Ring<1>::Buffers& buffers) {
      constexpr int vectors = launch::thread_vectors;
      if constexpr (launch::held != 0)
        work.held<vectors>(part, buffers.of[0]);
      else
        work.walked(part, buffers.of[0]);
    });
  }
}
