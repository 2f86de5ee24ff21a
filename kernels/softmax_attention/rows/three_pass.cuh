// three_pass: softmax over rows exactly as its formula says: the maximum, the sum, the quotients.
//
// Idea: three passes over the row, each of which reads it from memory again.
//
// Grid: ceil(rows / launch::rows) blocks; tile::threads threads share a row. Shared memory: one
// pair of floats for each warp. Bytes moved: x three times, y once; x once where the L2 cache holds
// the rows that are at work at a time.

#include "softmax_attention/rows/softmax_rows.cuh"

extern "C" __global__ void __launch_bounds__(tile::threads* launch::rows)
    softmax_three_pass(const __grid_constant__ gla_bench::SoftmaxParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ PartialSum scratch[32];
  const Row<tile::threads, launch::width> row(
      p, static_cast<long long>(blockIdx.x) * launch::rows + threadIdx.x / tile::threads);
  float top = gla_bench::device::minus_infinity();
  row.each([&](const Elements<launch::width>& elements, long long, bool) {
    top = fmaxf(top, elements.largest());
  });
  PartialSum all = merge_threads<tile::threads>({top * row.factor.value, 0.0f}, scratch);
  const float base = all.base();
  all.sum = 0.0f;
  row.each([&](const Elements<launch::width>& elements, long long, bool) {
    all.sum += elements.exponentials(row.factor, base);
  });
  row.write(merge_threads<tile::threads>(all, scratch));
}
