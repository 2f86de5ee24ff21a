#pragma once
// What a chunk walk does with rows of q and k besides its products: it forms the features in place,
// the bonus's scores and the normalizer z. Only members of the family that have these pay for them.

#include "linear_recurrence/chunk/walk_tiles.cuh"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence {

template <typename Tiles>
struct RowPhase {
  static constexpr int threads = Tiles::threads, warps = threads / 32, chunk = Tiles::chunk;
  static constexpr int keys = Tiles::keys, key_ld = Tiles::key_ld;
  static constexpr bool outputs = Tiles::outputs;

  const Tiles& tiles;

  /// Replaces q and k by elu(x) + 1, rounded to io_t. Rows from `rows` on stay zero.
  __device__ __forceinline__ void form_features(int c, int rows) const {
    constexpr int pairs = (dim::key_dim + 1) / 2;
    for (int item = threadIdx.x; item < rows * pairs; item += threads) {
      const int row = item / pairs, key = item % pairs * 2;
      const bool second = dim::key_dim % 2 == 0 || key + 1 < dim::key_dim;
      form_pair(tiles.k_tile(c) + row * key_ld + key, second);
      if constexpr (outputs) form_pair(tiles.q_tile(c) + row * key_ld + key, second);
    }
  }

  /// bonus_scores()[i] = sum_k q_ik u_k k_ik: the diagonal of the scores.
  __device__ __forceinline__ void form_bonus(int c) const {
    const io_t *q = tiles.q_tile(c), *k = tiles.k_tile(c);
    sum_rows(tiles.bonus_scores(), [&](int row, int key) {
      const float2 x = device::load_pair(q + row * key_ld + key);
      const float2 y = device::load_pair(k + row * key_ld + key);
      const float2 u = device::load_pair(tiles.bonus_u() + key);
      return x.x * u.x * y.x + x.y * u.y * y.y;
    });
  }

  /// normalizer_dots()[i] = q_i.z with z at the chunk's start.
  __device__ __forceinline__ void form_dots(int c) const {
    const io_t* q = tiles.q_tile(c);
    sum_rows(tiles.normalizer_dots(), [&](int row, int key) {
      const float2 x = device::load_pair(q + row * key_ld + key);
      const float2 z = device::load_pair(tiles.normalizer() + key);
      return x.x * z.x + x.y * z.y;
    });
  }

  /// z += the chunk's keys. With outputs, also computes what each token's output is multiplied by:
  /// scale over denominator.
  __device__ __forceinline__ void advance_normalizer(int c, float scale, float epsilon) const {
    for (int key = 2 * threadIdx.x; key < keys; key += 2 * threads) {
      float2 z = device::load_pair(tiles.normalizer() + key), sum = {0.0f, 0.0f};
#pragma unroll 8
      for (int j = 0; j < chunk; ++j) {
        const float2 k = device::load_pair(tiles.k_tile(c) + j * key_ld + key);
        sum.x += k.x;
        sum.y += k.y;
      }
      device::store_pair(tiles.normalizer() + key, z.x + sum.x, z.y + sum.y);
    }
    if constexpr (outputs)
      for (int i = threadIdx.x; i < chunk; i += threads) {
        float sum = tiles.normalizer_dots()[i];
        for (int column = 0; column <= i / 16; ++column) sum += tiles.row_sums(column)[i];
        tiles.quotients()[i] = scale / (scale * sum + epsilon);
      }
  }

 private:
  __device__ __forceinline__ static void form_pair(io_t* at, bool second) {
    const float2 x = device::load_pair(at);
    device::store_pair(at, feature(x.x), second ? feature(x.y) : 0.0f);
  }

  /// sums[row] = the sum of f(row, key) over pairs of keys. A warp works on all its rows side by
  /// side, so that their steps overlap.
  template <typename F>
  __device__ __forceinline__ static void sum_rows(float* sums, F f) {
    constexpr int rows = (chunk + warps - 1) / warps;
    float sum[rows] = {};
    const int first = Tiles::warp() * rows;
    for (int key = threadIdx.x % 32 * 2; key < keys; key += 64)
#pragma unroll
      for (int n = 0; n < rows; ++n)
        if (first + n < chunk) sum[n] += f(first + n, key);
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
#pragma unroll
      for (int n = 0; n < rows; ++n) sum[n] += __shfl_xor_sync(0xffffffffu, sum[n], distance);
#pragma unroll
    for (int n = 0; n < rows; ++n)
      if (threadIdx.x % 32 == 0 && first + n < chunk) sums[first + n] = sum[n];
  }
};

}  // namespace gla_bench::linear_recurrence
