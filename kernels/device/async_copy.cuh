#pragma once
// Copies from global to shared memory that do not pass through registers (cp.async, sm_80 and
// newer). They work for rows of any alignment: each access is the widest that a row's size in bytes
// allows.

#include "device/types.cuh"

namespace gla_bench::device {

/// Copies `bytes` (4, 8 or 16; both addresses must be aligned to it). Where `valid` is false it
/// writes zeros and does not read `source`.
template <int bytes>
__device__ __forceinline__ void copy_async(void* target, const void* source, bool valid) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(target));
  const int size = valid ? bytes : 0;
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(source),
                 "r"(size)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(source),
                 "n"(bytes), "r"(size)
                 : "memory");
}

/// Closes the group of copies that this thread has started.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most `pending` of this thread's newest groups are under way. Other threads see
/// the data after a barrier.
template <int pending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/// A block of `threads` copies `rows` rows of `columns` elements to shared memory with leading
/// dimension `ld`. Row r comes from source + r * stride. `row_elements` is the length of the
/// tensor's whole row and decides the alignment. `source` must lie a multiple of 16 bytes after the
/// start of such a row. Rows from `valid_rows` on and columns from `valid_columns` on become zeros.
/// The caller ends the copies with commit_copies().
template <int threads, int rows, int columns, int ld, int row_elements, typename T>
__device__ __forceinline__ void copy_rows_async(T* target, const T* source, long long stride,
                                                int valid_rows, int valid_columns) {
  constexpr int bytes = widest_access(row_elements * static_cast<int>(sizeof(T)));
  constexpr int width = bytes / static_cast<int>(sizeof(T));
  constexpr int per_row = (columns + width - 1) / width;
  const auto copy = [valid_columns](T* to, const T* from, const T* any, bool row_valid,
                                    int column) {
    const bool valid = row_valid && column < valid_columns;
    if constexpr (bytes >= 4)
      copy_async<bytes>(to, valid ? from : any, valid);
    else
      *to = valid ? *from : from_float<T>(0.0f);
  };
  if constexpr (threads % per_row == 0) {
    // A thread always copies the same columns, so its addresses advance by a step and need not be
    // kept for each row.
    constexpr int step = threads / per_row;
    const int first = threadIdx.x / per_row, column = threadIdx.x % per_row * width;
    T* to = target + first * ld + column;
    const T* from = source + first * stride + column;
#pragma unroll 4
    for (int row = first; row < rows; row += step, to += step * ld, from += step * stride)
      copy(to, from, source, row < valid_rows, column);
  } else {
#pragma unroll 2
    for (int i = threadIdx.x; i < rows * per_row; i += threads) {
      const int row = i / per_row, column = i % per_row * width;
      copy(target + row * ld + column, source + row * stride + column, source, row < valid_rows,
           column);
    }
  }
}

}  // namespace gla_bench::device
