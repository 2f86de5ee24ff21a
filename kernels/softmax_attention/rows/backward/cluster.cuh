// cluster: the backward of softmax over rows that are read once and written once, whatever their
// length (sm_90).
//
// Idea: the blocks of a cluster hold a row of y and of dy in their shared memory, as whole rows
// (ring.cuh) or in pieces (pieces.cuh). Each sums up y dy over its share. The sums are exchanged
// through shared memory, and each block puts dx in the place of dy.
//
// Grid: tile::cluster blocks for each tile of rows with one stage of whole rows, else as many as
// the multiprocessors hold. Shared memory: ring_layout.h. Bytes moved: y and dy once, dx once.

#include "softmax_attention/rows/backward/rows.cuh"
#include "softmax_attention/rows/pieces.cuh"
#include "softmax_attention/rows/ring.cuh"

namespace gla_bench::softmax_attention::ring {

/// The gradients of a row, or of a piece of one, as a thread sees it.
struct GradientWork {
  float* scratch;
  float scale;
  float sum_of_thread = 0.0f, sum_of_row = 0.0f;

  __device__ __forceinline__ void begin() { sum_of_thread = 0.0f; }
  template <typename Buffers>
  __device__ __forceinline__ void sum(const Part& part, const Buffers& buffers) {
    part.each([&](int v) {
      float y[width], dy[width];
      part.load(buffers.of[0], v, 0.0f, y);
      part.load(buffers.of[1], v, 0.0f, dy);
#pragma unroll
      for (int i = 0; i < width; ++i) sum_of_thread = fmaf(y[i], dy[i], sum_of_thread);
    });
  }
  __device__ __forceinline__ float2 total() const {
    return make_float2(sum_over_threads<threads>(sum_of_thread, scratch, [] { row_barrier(); }),
                       0.0f);
  }
  __device__ __forceinline__ void exchange(const float2 (&pairs)[cluster]) {
    sum_of_row = 0.0f;
#pragma unroll
    for (const float2& pair : pairs) sum_of_row += pair.x;
  }
  template <typename Buffers>
  __device__ __forceinline__ void write(const Part& part, const Buffers& buffers) const {
    part.each([&](int v) {
      float y[width], dy[width];
      part.load(buffers.of[0], v, 0.0f, y);
      part.load(buffers.of[1], v, 0.0f, dy);
#pragma unroll
      for (int i = 0; i < width; ++i) dy[i] = scale * y[i] * (dy[i] - sum_of_row);
      part.store(buffers.of[1], v, dy);
    });
  }
};

}  // namespace gla_bench::softmax_attention::ring

extern "C" __global__ void __cluster_dims__(tile::cluster, 1, 1)
    __launch_bounds__(launch::launched_threads, launch::residency)
        softmax_backward_cluster(const __grid_constant__ gla_bench::SoftmaxBackwardParams p) {
  using namespace gla_bench::softmax_attention;
  using namespace gla_bench::softmax_attention::ring;
  extern __shared__ __align__(128) unsigned char shared[];
  __shared__ float scratch[32];
  GradientWork work{scratch, p.scale};
  const auto* y = static_cast<const io_t*>(p.y);
  const auto* dy = static_cast<const io_t*>(p.dy);
  auto* dx = static_cast<io_t*>(p.dx);
  if constexpr (launch::pieces > 0) {
    const Pieces<2> pieces{{y, dy}, dx, p.rows, p.columns, shared};
    pieces.run(work);
  } else {
    Ring<2> ring{{y, dy}, dx, p.rows, p.columns, shared};
    ring.run([&](const Part& part, const Ring<2>::Buffers& buffers) {
      work.begin();
      work.sum(part, buffers);
      const float2 total = work.total();
      float2 pairs[cluster];
      ring.of_cluster(total.x, total.y, pairs);
      work.exchange(pairs);
      work.write(part, buffers);
    });
  }
}
