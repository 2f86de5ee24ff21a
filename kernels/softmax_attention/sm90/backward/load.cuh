#pragma once
// The warp that loads, in the backward of flash_sm90. One thread has tiles copied, and with the
// queries what they bring with them (queries.cuh).

#include "device/bulk_copy.cuh"
#include "softmax_attention/sm90/backward/queries.cuh"

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
  wait_for_launch_before();  // which writes the steps' records and zeroes the sums of dq
  int step = 0;
  for (int h = 0; h < trait::group; ++h) {
    const auto [begin, end] = range.steps(h);
    const int head = range.key_head * trait::group + h;
    for (int n = begin; n < end; ++n, ++step) {
      if (!copies) continue;
      const Stage stage = memory.stage(step);
      if (step >= stages) barrier_wait(stage.queries_free(), stage.parity ^ 1u);
      const int of_record = biased && !range.on_edge(n) ? layout.sums_at : layout.record_bytes;
      barrier_expect(stage.queries_arrived(), layout.arriving_queries + of_record);
      copy_bytes_in(stage.record, query_record(p.base, range.step(h, n)), of_record,
                    stage.queries_arrived());
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

}  // namespace gla_bench::softmax_attention::sm90
