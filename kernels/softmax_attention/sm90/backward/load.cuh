#pragma once
// The warpgroup that loads, in the backward of flash_sm90. One thread has tiles copied, another
// warp writes what each query brings with it: -lse, in units of log2, and D.

#include "softmax_attention/sm90/backward/block.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// Runs on one warp, whose first lane has the tiles copied.
__device__ __forceinline__ void load_tiles(const BackwardSm90Params& p, const Memory& memory) {
  const bool copies = lane() == 0;
  const Range range(p.base);
  const auto bring = [&](unsigned to, int panels, int panel_bytes, const TensorMap& map,
                         unsigned barrier, int row, int head) {
    for (int i = 0; i < panels; ++i)
      copy_in(to + i * panel_bytes, map, barrier, i * layout.columns, row, head, range.batch);
  };
  if (copies) {
    prefetch_map(p.q), prefetch_map(p.k), prefetch_map(p.v), prefetch_map(p.d_o);
    barrier_expect(memory.keys_arrived(), layout.arriving_keys);
    bring(memory.keys(), layout.key_panels, layout.key_panel, p.k, memory.keys_arrived(),
          range.first_key, range.key_head);
    bring(memory.values(), layout.value_panels, layout.key_panel, p.v, memory.keys_arrived(),
          range.first_key, range.key_head);
  }
  int step = 0;
  for (int h = 0; h < trait::group; ++h) {
    const int end = range.end_step(h), head = range.key_head * trait::group + h;
    for (int n = range.first_step; n < end; ++n, ++step) {
      if (!copies) continue;
      const Stage stage = memory.stage(step);
      if (step >= stages) barrier_wait(stage.queries_free(), stage.parity ^ 1u);
      barrier_expect(stage.queries_arrived(), layout.arriving_queries);
      bring(stage.queries, layout.key_panels, layout.query_panel, p.q, stage.queries_arrived(),
            n * block_m, head);
      if (step >= stages) barrier_wait(stage.gradients_free(), stage.parity ^ 1u);
      barrier_expect(stage.gradients_arrived(), layout.arriving_gradients);
      bring(stage.d_outputs, layout.value_panels, layout.query_panel, p.d_o,
            stage.gradients_arrived(), n * block_m, head);
    }
    __syncwarp();
  }
}

/// Writes the pair of each query. A query behind the last one gets -inf, so that all its weights
/// are zero. With a decay, pairs hold the bias from the query back to the block's last key as well,
/// and the query's sum of log decays stands beside them, with -lse in the place that is not used.
/// Runs on one warp.
__device__ __forceinline__ void write_pairs(const BackwardSm90Params& p, const Memory& memory) {
  const Range range(p.base);
  int step = 0;
  for (int h = 0; h < trait::group; ++h) {
    const float2* pairs =
        static_cast<const float2*>(p.base.work[work::pairs]) + range.sequence(h) * p.base.seq;
    const int end = range.end_step(h);
    for (int n = range.first_step; n < end; ++n, ++step) {
      const Stage stage = memory.stage(step);
      constexpr int each = block_m / 32;
      float2 own[each];
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const int query = n * block_m + i * 32 + lane();
        own[i] = query < p.base.seq ? pairs[query] : make_float2(device::minus_infinity(), 0.0f);
      }
      if (step >= stages) barrier_wait(stage.queries_free(), stage.parity ^ 1u);
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const int column = i * 32 + lane();
        if constexpr (biased) {
          const int position = range.position(n * block_m + column);
          const int keys = static_cast<int>(p.base.key_seq);
          const DecaySum* sums = range.sums(h);
          const DecaySum last = sums[range.last_key];
          DecaySum sum = sums[position < 0 ? 0 : position < keys ? position : keys - 1];
          sum.unused = __float_as_int(own[i].x);
          store_sum(stage.sums + column * 16, sum);
          own[i].x = sum.resets == last.resets ? own[i].x + difference(sum, last)
                                               : device::minus_infinity();
        }
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(stage.pairs + column * 8),
                     "f"(own[i].x), "f"(own[i].y)
                     : "memory");
      }
      barrier_arrive(stage.pairs_written());
    }
  }
}

}  // namespace gla_bench::softmax_attention::sm90
