#pragma once
// Where the parts of dq of a block of keys are added to the sums in device memory. In a fixed
// order, one warp adds them for both consumers: a block waits at each step of queries until all
// blocks of earlier keys that walk over it have added theirs. Those blocks were launched before, so
// that they are at work or done.

#include "softmax_attention/sm90/backward/queries.cuh"
#include "softmax_attention/sm90/backward/query_sums.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// Named barriers of both consumers and the warp that adds: the place of dq in shared memory is
/// free, and dq is there.
inline constexpr int place_free = 4, place_written = 5;
inline constexpr int ordering_threads = 32 + 128 * layout.consumers;

__device__ __forceinline__ float* dq_of_step(const AttentionParams& p, const Range& range, int h,
                                             int n) {
  return static_cast<float*>(p.work[work::dq_sums]) + range.step(h, n) * layout.step_floats;
}
/// Has floats added to those in device memory, in a group of bulk copies.
__device__ __forceinline__ void add_bulk(float* to, unsigned from, unsigned bytes) {
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
      "r"(from), "r"(bytes)
      : "memory");
}

/// Adds four floats to those in device memory.
__device__ __forceinline__ void add_vector(float* to, float a, float b, float c, float d) {
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a),
               "f"(b), "f"(c), "f"(d)
               : "memory");
}

__device__ __forceinline__ int load_acquire(const int* from) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ __forceinline__ void add_release(int* to) {
  asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(to) : "memory");
}

/// Adds the parts of both consumers, step by step. Runs on one warp. What can be done before a
/// step's dq is there is done before, because blocks wait for each other.
__device__ __forceinline__ void add_in_order(const AttentionParams& p, const Memory& memory) {
  const Range range(p);
  wait_for_launch_before();  // which zeroes the counters
  const int own = range.first_key / layout.block_n;
  float loss = 1.0f;
  if constexpr (scaled)
    loss = 1.0f / (score_gain * gradient_gain(p, range.batch * p.key_heads + range.key_head));
  int* unfinished = nullptr;  // the counter of the step before
  const auto finish = [&] {
    if (unfinished == nullptr) return;
    if (lane() == 0) copies_done<0>();
    __threadfence();
    __syncwarp();
    if (lane() == 0) add_release(unfinished);
  };
  int step = 0;
  for (int h = 0; h < trait::group; ++h) {
    const auto [begin, end] = range.steps(h);
    for (int n = begin; n < end; ++n, ++step) {
      named_arrive<ordering_threads>(place_free);
      finish();
      int* counter = added_blocks(p, range.step(h, n));
      const int earlier = own - first_block(p, range.step(h, n));
      while (load_acquire(counter) < earlier) {
      }
      QuerySums sums;
      if constexpr (per_token) sums.load(p, range, h, n);
      named_barrier<ordering_threads>(place_written);
      if (lane() == 0) {
        add_bulk(dq_of_step(p, range, h, n), memory.dq(0), layout.step_floats * 4);
        copies_commit();
      }
      if constexpr (per_token) {
        const Exchange exchange = memory.exchange(step);
        sums.add(exchange.query_sums, loss);
        barrier_arrive(exchange.read);
        sums.store(p, range, h, n);
      }
      if (lane() == 0) copies_read<0>();
      __syncwarp();
      unfinished = counter;
    }
  }
  finish();
}

}  // namespace gla_bench::softmax_attention::sm90
