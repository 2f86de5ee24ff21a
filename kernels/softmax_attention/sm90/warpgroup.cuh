#pragma once
// What a warpgroup of flash_sm90 does with its accumulators and barriers.

#include "device/sm90_products.cuh"
#include "softmax_attention/sm90/positions.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// Number of this thread's warpgroup: -1 is the one that loads.
__device__ __forceinline__ int group() {
  return static_cast<int>(threadIdx.x) / 128 - 1;
}
/// Number of this thread's warp in its warpgroup.
__device__ __forceinline__ int warp() {
  return static_cast<int>(threadIdx.x) / 32 % 4;
}
__device__ __forceinline__ bool first_of_group() {
  return threadIdx.x % 128 == 0;
}
/// The row of 64 that the thread holds in the upper (0) or lower half of its accumulators.
__device__ __forceinline__ int row_of(int half) {
  return warp() * 16 + half * 8 + lane() / 4;
}
/// The column of an accumulator; the next one belongs to the next column.
__device__ __forceinline__ int column_of(int i) {
  return i / 4 * 8 + lane() % 4 * 2;
}

/// Arrives once for the warp, when all its lanes are here.
__device__ __forceinline__ void arrive_as_warp(unsigned barrier) {
  __syncwarp();
  if (lane() == 0) device::sm90::barrier_arrive(barrier);
}
/// Arrives once for each lane, when all of them are here.
__device__ __forceinline__ void arrive_for_lanes(unsigned barrier) {
  __syncwarp();
  if (lane() == 0)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 32;" ::"r"(barrier) : "memory");
}
/// Arrives at a named barrier without waiting.
template <int threads>
__device__ __forceinline__ void named_arrive(int name) {
  asm volatile("barrier.arrive %0, %1;" ::"r"(name), "n"(threads) : "memory");
}

/// Accumulators, 16 columns at a time, as an operand of the next product.
template <int columns>
using Packed = unsigned[columns / 16][4];

/// Rounds accumulators, those of the thread's upper row times `upper`, of its lower one times
/// `lower`.
template <int columns>
__device__ __forceinline__ void pack_rows(const float (&rows)[columns / 2],
                                          unsigned (&packed)[columns / 16][4], float upper = 1.0f,
                                          float lower = 1.0f) {
#pragma unroll
  for (int k = 0; k < columns / 16; ++k)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float by = i % 2 == 0 ? upper : lower;
      packed[k][i] =
          device::sm90::pack_as<io_t>(by * rows[8 * k + 2 * i], by * rows[8 * k + 2 * i + 1]);
    }
}
template <int steps>
__device__ __forceinline__ void pin_packed(unsigned (&packed)[steps][4]) {
#pragma unroll
  for (int k = 0; k < steps; ++k) device::sm90::pin(packed[k]);
}
/// Writes the warpgroup's rows to panels of 64 columns in shared memory, from row `first` on.
template <int steps>
__device__ __forceinline__ void put_rows(const unsigned (&packed)[steps][4], unsigned to,
                                         int panel_bytes, int first) {
  const unsigned row = first + warp() * 16 + lane() % 16, column = lane() / 16 * 16;
#pragma unroll
  for (int k = 0; k < steps; ++k)
    device::sm90::store_matrices(
        to + k / 4 * panel_bytes + device::sm90::swizzled(row, k % 4 * 32 + column), packed[k][0],
        packed[k][1], packed[k][2], packed[k][3]);
}

}  // namespace gla_bench::softmax_attention::sm90
