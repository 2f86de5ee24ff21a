#pragma once
// Blocks of a cluster, which reach each other's shared memory: addresses, barriers, stores.

#include "device/sm90.cuh"

namespace gla_bench::device::sm90 {

/// All threads of all blocks of the cluster.
__device__ __forceinline__ void cluster_barrier() {
  asm volatile(
      "barrier.cluster.arrive.release;\n\t"
      "barrier.cluster.wait.acquire;" ::
          : "memory");
}
/// The same place in the shared memory of another block.
__device__ __forceinline__ unsigned address_in(unsigned block, unsigned address) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
  return there;
}
/// Arrives at a barrier of another block, and waits for nothing that this thread has written or
/// asked for: what the other block may overwrite has been read, into registers that were used.
__device__ __forceinline__ void barrier_arrive_there(unsigned barrier) {
  asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier)
               : "memory");
}
/// Waits until the phase of this parity is over; what the others did before they arrived is seen.
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
/// Stores 16 bytes in another block, whose barrier counts them.
__device__ __forceinline__ void store_there(unsigned address, unsigned barrier, float a, float b,
                                            float c, float d) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, "
      "[%1];" ::"r"(address),
      "r"(barrier), "f"(a), "f"(b), "f"(c), "f"(d)
      : "memory");
}

}  // namespace gla_bench::device::sm90
