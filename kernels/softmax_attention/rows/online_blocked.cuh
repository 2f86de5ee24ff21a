// online_blocked: softmax over rows that are cut into independent blocks.
//
// Idea: a block is read once and stays in registers. Its maximum and rescaled sum form a pair.
// Merging such pairs is associative and commutative, so blocks may run anywhere and in any order. A
// row that fits one block is read once (softmax_row). Longer rows take two launches. softmax_block
// leaves the pair of each block in the workspace. softmax_merge merges a row's pairs and writes the
// outputs of its block.
//
// Grid: for each row, launch::blocks blocks of tile::block columns. Shared memory: one pair of
// floats for each warp. Workspace: region 0 holds the pairs [rows, blocks]. Bytes moved: x once and
// y where a block holds the whole row. Otherwise x twice, y once, and the pairs, which are written
// once and read by every block of the row.

#include "softmax_attention/rows/softmax_rows.cuh"

namespace gla_bench::softmax_attention::online_blocked {

constexpr int threads = tile::threads, width = launch::width, blocks = launch::blocks;
constexpr int vectors = tile::block / (threads * width);  // of each thread
static_assert(vectors >= 1 && vectors * threads * width == tile::block);

/// The thread's vectors of this block's part of its row.
struct Part {
  const long long row = blockIdx.x / blocks, block = blockIdx.x % blocks;
  const Row<threads, width> whole;
  const long long first = block * (tile::block / width) + threadIdx.x;
  Elements<width> elements[vectors];

  __device__ __forceinline__ explicit Part(const SoftmaxParams& p) : whole(p, row) {
#pragma unroll
    for (int n = 0; n < vectors; ++n) elements[n].load(whole.x, at(n), inside(n), whole.factor);
  }
  __device__ __forceinline__ long long at(int n) const {
    return first + n * threads;
  }
  __device__ __forceinline__ bool inside(int n) const {
    return at(n) < whole.vectors;
  }

  __device__ __forceinline__ PartialSum sum(PartialSum* scratch) const {
    float top = device::minus_infinity();
#pragma unroll
    for (int n = 0; n < vectors; ++n) top = fmaxf(top, elements[n].largest());
    PartialSum part{top * whole.factor.value, 0.0f};
    const float base = part.base();
#pragma unroll
    for (int n = 0; n < vectors; ++n) part.sum += elements[n].exponentials(whole.factor, base);
    return merge_threads<threads>(part, scratch);
  }
  __device__ __forceinline__ void write(const PartialSum& all) const {
    const float base = all.base(), inverse = all.inverse();
#pragma unroll
    for (int n = 0; n < vectors; ++n)
      if (inside(n)) elements[n].store(whole.y, at(n), whole.factor, base, inverse);
  }
};

__device__ __forceinline__ PartialSum* pairs(const SoftmaxParams& p) {
  return static_cast<PartialSum*>(p.work[0]);
}

}  // namespace gla_bench::softmax_attention::online_blocked

extern "C" __global__ void __launch_bounds__(tile::threads)
    softmax_row(const __grid_constant__ gla_bench::SoftmaxParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ PartialSum scratch[32];
  const online_blocked::Part part(p);
  part.write(part.sum(scratch));
}

extern "C" __global__ void __launch_bounds__(tile::threads)
    softmax_block(const __grid_constant__ gla_bench::SoftmaxParams p) {
  using namespace gla_bench::softmax_attention;
  __shared__ PartialSum scratch[32];
  const PartialSum sum = online_blocked::Part(p).sum(scratch);
  if (threadIdx.x == 0) online_blocked::pairs(p)[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(tile::threads)
    softmax_merge(const __grid_constant__ gla_bench::SoftmaxParams p) {
  using namespace gla_bench::softmax_attention;
  using namespace gla_bench::softmax_attention::online_blocked;
  const Part part(p);
  PartialSum all = PartialSum::of_nothing();
  for (int n = static_cast<int>(threadIdx.x) % 32; n < blocks; n += 32)
    all.merge(pairs(p)[part.row * blocks + n]);
  part.write(merge_lanes<32>(all));
}
