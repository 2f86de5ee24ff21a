#pragma once
// Bulk copies of contiguous bytes between device and shared memory (sm_90). Unlike bulk tensor
// copies they need no map. Addresses and sizes are multiples of 16 bytes. Groups of outgoing copies
// are closed and awaited as those of tensors are (sm90.cuh).

#include "device/sm90.cuh"

namespace gla_bench::device::sm90 {

/// Copies `bytes` to shared memory. The barrier counts them.
__device__ __forceinline__ void copy_bytes_in(unsigned to, const void* from, unsigned bytes,
                                              unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}
/// Copies `bytes` to device memory, as a part of the thread's open group.
__device__ __forceinline__ void copy_bytes_out(void* to, unsigned from, unsigned bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
}

}  // namespace gla_bench::device::sm90
