#pragma once
// Scores of a block of tokens with itself,
//   A_ij = sum_k q_ik k_jk e^(g_(j+1)k + .. + g_ik) for i >= j,
// on the tensor cores and without an exponent that could overflow. Where the output comes before
// the update, the exponent ends with g_(i-1)k, and A_ii = sum_k q_ik u_k k_ik.
//
// The pairs (i, j) form a binary tree of halves of n = 2, 4, .. blocks of 8 tokens. If i lies in
// the right half and j in the left half, the decay between them is a product of two factors: q's
// decay from the middle and k's decay to the middle. Both are <= 1. Inside 8 tokens both refer to
// the middle of these 8 tokens (GateBlocks::centred). A warp owns 16 rows and all columns up to
// them, in accumulators.

#include "device/products.cuh"
#include "linear_recurrence/chunk/gate_blocks.cuh"

namespace gla_bench::linear_recurrence {

/// Needs 2 * block threads for `block` tokens and takes `chunk` keys at once. `ld` is the leading
/// dimension of the raw tiles and of the operand tiles.
template <typename Ops, int block, int chunk, int ld>
struct DiagonalScores {
  using operand_t = typename Ops::element;
  using Gates = GateBlocks<block, chunk, ld>;
  static constexpr int threads = 2 * block, tiles = block / 8;
  using Scores = float[tiles][4];

  /// Adds what a chunk of keys contributes. q, k, g: raw tiles [block, ld]. sums: the result of
  /// Gates::sum of g, after a barrier. first, second: operand tiles that are free. Ends with a
  /// barrier.
  template <typename T, typename G>
  __device__ __forceinline__ static void add(Scores& scores, const T* q, const T* k, const G* g,
                                             const float* sums, operand_t* first,
                                             operand_t* second) {
    Gates::template centred<Ops, threads>(q, k, g, first, second);
    __syncthreads();
    multiply(scores, first, second, -1);
#pragma unroll
    for (int level = 0; 8 << level < block; ++level) {
      __syncthreads();
      Gates::template halves<Ops, threads>(q, k, g, sums, level, first);
      __syncthreads();
      multiply(scores, first, first, level);
    }
    __syncthreads();
  }

  /// Drops the scores above the diagonal. With a bonus the diagonal becomes `own` [block].
  __device__ __forceinline__ static void keep_lower(Scores& scores, const float* own = nullptr) {
    const int row = warp_row() + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < tiles; ++n)
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        const int i = row + x / 2 * 8, j = 8 * n + column + x % 2;
        if (j > i) scores[n][x] = 0.0f;
        if constexpr (Gates::before_own)
          if (j == i) scores[n][x] = own[i];
      }
  }

  /// This thread's half of the keys of a row in sum_k q u k, over a chunk of keys. u are the
  /// chunk's bonuses, of which the first `valid` exist. Threads 2 i and 2 i + 1 share row i.
  template <typename T, typename U>
  __device__ __forceinline__ static float own_score(const T* q, const T* k, const U* u, int valid) {
    const int row = threadIdx.x / 2 * ld, half = threadIdx.x % 2 * (chunk / 2);
    float sum = 0.0f;
#pragma unroll 4
    for (int n = half; n < half + chunk / 2; ++n)
      if (n < valid)
        sum = fmaf(device::to_float(q[row + n]) * device::to_float(k[row + n]),
                   device::to_float(u[n]), sum);
    return sum;
  }

  /// Adds the two halves of each row's score with itself, and stores the sums. The caller must have
  /// passed a barrier before.
  __device__ __forceinline__ static void store_own(float half, float* own) {
    const float sum = half + __shfl_xor_sync(0xffffffffu, half, 1);
    if (threadIdx.x % 2 == 0) own[threadIdx.x / 2] = sum;
  }

  /// First row of this warp.
  __device__ __forceinline__ static int warp_row() {
    return static_cast<int>(threadIdx.x) / 32 * 16;
  }

 private:
  /// Whether this warp's rows meet a tile of 16 columns at a level. Level -1 stands for the blocks
  /// of 8 themselves. Level n joins two halves of 8 << n tokens.
  __device__ __forceinline__ static bool meets(int level, int columns) {
    const int row = warp_row() / 16;
    if (level <= 0) return columns == row;
    const int half = level - 1;  // log2 of its length in tiles of 16
    return (row >> half & 1) != 0 && columns >> half == (row >> half) - 1;
  }

  /// scores += rows of `a` times rows of `b`, where the level makes them meet.
  __device__ __forceinline__ static void multiply(Scores& scores, const operand_t* a,
                                                  const operand_t* b, int level) {
    if (level > 0 && (warp_row() >> (level + 3) & 1) == 0) return;  // a left half
#pragma unroll 2
    for (int step = 0; step < chunk; step += Ops::depth) {
      const typename Ops::A whole = Ops::load_rows(a + warp_row() * ld + step, ld);
#pragma unroll
      for (int n = 0; n < tiles; n += 2)
        if (meets(level, n / 2)) {
          typename Ops::B columns[2];
          Ops::load_rows(columns, b + n * 8 * ld + step, ld);
          if (level > 0) {
            Ops::multiply(scores[n], whole, columns[0]);
            Ops::multiply(scores[n + 1], whole, columns[1]);
          } else if (level == 0) {
            Ops::multiply(scores[n], Ops::lower_rows(whole), columns[0]);
          } else {
            Ops::multiply(scores[n], Ops::upper_rows(whole), columns[0]);
            Ops::multiply(scores[n + 1], Ops::lower_rows(whole), columns[1]);
          }
        }
    }
  }
};

}  // namespace gla_bench::linear_recurrence
