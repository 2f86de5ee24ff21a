// blocked: the backward of softmax over rows that are cut into blocks.
//
// Idea: a block of y and dy is read once and stays in registers, as it is stored. A row that fits
// one block is read once (softmax_backward_row). Longer rows take two launches:
// softmax_backward_block leaves the sum of y dy of each block behind, softmax_backward_merge adds
// up a row's sums and writes the gradients of its block.
//
// Grid: for each row, launch::blocks blocks of tile::block columns. Shared memory: one float for
// each warp. Workspace: the sums [rows, blocks]. Bytes moved: y and dy once and dx where a block
// holds the whole row. Otherwise y and dy twice, dx once, and the sums, which are written once and
// read by every block of the row.

#include "softmax_attention/rows/backward/rows.cuh"

namespace gla_bench::softmax_attention::blocked {

constexpr int threads = tile::threads, width = launch::width, blocks = launch::blocks;
constexpr int vectors = tile::block / (threads * width);  // of each thread
static_assert(vectors >= 1 && vectors * threads * width == tile::block);

/// The thread's vectors of this block's part of its row.
struct Part {
  const long long row = blockIdx.x / blocks, block = blockIdx.x % blocks;
  const GradientRow<width> whole;
  const long long first = block * (tile::block / width) + threadIdx.x;
  Gradients<width> elements[vectors];

  __device__ __forceinline__ explicit Part(const SoftmaxBackwardParams& p) : whole(p, row) {
#pragma unroll
    for (int n = 0; n < vectors; ++n) elements[n] = whole.load(first + n * threads);
  }
  __device__ __forceinline__ float sum(float* scratch) const {
    float part = 0.0f;
#pragma unroll
    for (int n = 0; n < vectors; ++n) part += elements[n].sum();
    return sum_over_threads<threads>(part, scratch, [] { __syncthreads(); });
  }
  __device__ __forceinline__ void write(float sum_of_row) const {
#pragma unroll
    for (int n = 0; n < vectors; ++n) whole.store(first + n * threads, elements[n], sum_of_row);
  }
};

}  // namespace gla_bench::softmax_attention::blocked

extern "C" __global__ void __launch_bounds__(tile::threads)
    softmax_backward_row(const __grid_constant__ gla_bench::SoftmaxBackwardParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ float scratch[32];
  const blocked::Part part(p);
  part.write(part.sum(scratch));
}

extern "C" __global__ void __launch_bounds__(tile::threads)
    softmax_backward_block(const __grid_constant__ gla_bench::SoftmaxBackwardParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ float scratch[32];
  const float sum = blocked::Part(p).sum(scratch);
  if (threadIdx.x == 0) p.sums[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(tile::threads)
    softmax_backward_merge(const __grid_constant__ gla_bench::SoftmaxBackwardParams p) {
  using namespace gla_bench::softmax_attention;
  using namespace gla_bench::softmax_attention::blocked;
  const Part part(p);
  float sum = 0.0f;
  for (int n = static_cast<int>(threadIdx.x) % 32; n < blocks; n += 32)
    sum += p.sums[part.row * blocks + n];
  part.write(sum_over_threads<32>(sum, nullptr, [] {}));
}
