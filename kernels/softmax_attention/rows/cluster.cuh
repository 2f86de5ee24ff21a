// cluster: softmax over rows that are read once and written once, whatever their length (sm_90).
//
// Idea: the blocks of a cluster hold a row in their shared memory (ring.cuh). Each forms the pair
// (maximum, sum) of its share. The pairs are exchanged through shared memory and merged, and each
// block replaces its share by the quotients. Narrow rows need no cluster; then a block has several
// rows at a time. With more than one stage blocks stay for many tiles, and the copies of the next
// ones run while a tile is worked on.
//
// Grid: tile::cluster blocks for each tile of rows with one stage, else as many as the
// multiprocessors hold. Shared memory: ring_layout.h. Bytes moved: x once, y once.

#include "softmax_attention/rows/ring.cuh"
#include "softmax_attention/rows/softmax_rows.cuh"

namespace gla_bench::softmax_attention::ring {

/// The sum over a part of a row that one thread has.
__device__ __forceinline__ PartialSum sum_of_thread(const Part& part, const io_t* x,
                                                    const Factor& factor) {
  float top = device::minus_infinity();
  part.each([&](int v) {
    float own[width];
    part.load(x, v, factor.sign * device::minus_infinity(), own);
#pragma unroll
    for (int n = 0; n < width; ++n) top = fmaxf(top, factor.sign * own[n]);
  });
  PartialSum sum{top * factor.value, 0.0f};
  const float base = sum.base(), signed_factor = factor.sign * factor.value;
  part.each([&](int v) {
    float own[width];
    part.load(x, v, factor.sign * device::minus_infinity(), own);
#pragma unroll
    for (int n = 0; n < width; ++n)
      sum.sum += device::exp2_fast(fmaf(own[n], signed_factor, -base));
  });
  return sum;
}

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
  const float signed_factor = factor.sign * factor.value;
  ring.run([&](const Part& part, const Ring<1>::Buffers& buffers) {
    io_t* x = buffers.of[0];
    PartialSum own = sum_of_thread(part, x, factor);
    if constexpr (threads < 32)
      own = merge_lanes<threads>(own);
    else
      own = merge_threads<threads>(own, scratch);
    PartialSum all = PartialSum::of_nothing();
    ring.of_cluster(own.reference, own.sum, [&](const float2& pair) {
      all.merge({pair.x, pair.y});
    });
    const float base = all.base(), inverse = all.inverse();
    part.each([&](int v) {
      float y[width];
      part.load(x, v, 0.0f, y);
#pragma unroll
      for (int n = 0; n < width; ++n)
        y[n] = inverse * gla_bench::device::exp2_fast(fmaf(y[n], signed_factor, -base));
      part.store(x, v, y);
    });
  });
}
