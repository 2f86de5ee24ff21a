#pragma once
// The blocks of a cluster can reach each other's shared memory: addresses, barriers, stores.

#include "device/sm90.cuh"

namespace gla_bench::device::sm90 {

/// Synchronizes all threads of all blocks of the cluster.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile(
      "barrier.cluster.arrive.release;\n\t"
      "barrier.cluster.wait.acquire;" ::
          : "memory");
}
/// The address of the same place in another block's shared memory.
__device__ __forceinline__ unsigned address_in(unsigned block, unsigned address) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
  return there;
}
/// Arrives at a barrier of another block. It does not wait for anything that this thread has
/// written or asked for. It may be used only if what the other block may overwrite has been read
/// into registers that have already been used.
__device__ __forceinline__ void barrier_arrive_there(unsigned barrier) {
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
/// Waits until the phase of this parity is over. What the other blocks did before they arrived is
/// then visible.
__device__ __forceinline__ void barrier_wait_cluster(unsigned barrier, unsigned parity) {
  unsigned passed;
  do {
    asm volatile(
        "{\n\t.reg .pred p;\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(passed)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (passed == 0);
}
/// Stores 16 bytes in another block. That block's barrier counts the bytes.
__device__ __forceinline__ void store_there(unsigned address, unsigned barrier, float a, float b,
                                            float c, float d) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, "
      "[%1];" ::"r"(address),
      "r"(barrier), "f"(a), "f"(b), "f"(c), "f"(d)
      : "memory");
}

}  // namespace gla_bench::device::sm90
