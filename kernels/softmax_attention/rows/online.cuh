// online: softmax over rows in two passes. The first forms maximum and sum together, the second
// forms the quotients.
//
// Idea: each thread carries the largest logit so far and the sum relative to it. It rescales the
// sum when the largest logit grows. The pairs of all threads are merged at the end of the pass.
//
// Grid: ceil(rows / launch::rows) blocks; tile::threads threads share a row. Shared memory: one
// pair of floats for each warp. Bytes moved: x twice, y once; x once where the L2 cache holds the
// rows that are at work at a time.

#include "softmax_attention/rows/softmax_rows.cuh"

extern "C" __global__ void __launch_bounds__(tile::threads* launch::rows)
    softmax_online(const __grid_constant__ gla_bench::SoftmaxParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ PartialSum scratch[32];
  const Row<tile::threads, launch::width> row(
      p, static_cast<long long>(blockIdx.x) * launch::rows + threadIdx.x / tile::threads);
  PartialSum part = PartialSum::of_nothing();
  row.each([&](const Elements<launch::width>& elements, long long, bool) {
    const PartialSum next{fmaxf(part.reference, elements.largest() * row.factor.value), 0.0f};
    part.sum = part.sum * gla_bench::device::exp2_fast(part.reference - next.base()) +
               elements.exponentials(row.factor, next.base());
    part.reference = next.reference;
  });
  row.write(merge_threads<tile::threads>(part, scratch));
}
