#pragma once
// The warpgroup of flash_sm90 that loads. One thread has tiles copied. With a decay, another warp
// writes the biases of their keys beside them.

#include "softmax_attention/sm90/items.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// Has queries, keys and values copied as their places become free. Runs on one thread.
__device__ __forceinline__ void load_tiles(const FlashSm90Params& p, const Memory& memory) {
  prefetch_map(p.q), prefetch_map(p.k), prefetch_map(p.v);
  const Items items(p.base);
  int step = 0, items_before = 0;
  for (Turns turn(items, memory, true); turn.left(); turn.next()) {
    const Item item = items.item(turn.index());
    if (item.first_tile >= item.end_tile) continue;
    const int key_head = item.head / trait::group;
    const auto bring = [&](unsigned to, int panels, int panel_bytes, const TensorMap& map,
                           unsigned barrier, int row, int head) {
      for (int i = 0; i < panels; ++i)
        copy_in(to + i * panel_bytes, map, barrier, i * layout.columns, row, head, item.batch);
    };
    for (int tile = item.end_tile - 1; tile >= item.first_tile; --tile, ++step) {
      const Stage stage = memory.stage(step);
      const int row = tile * block_n;
      if (step >= stages) barrier_wait(stage.keys_free(), stage.parity ^ 1u);
      barrier_expect(stage.keys_arrived(), layout.arriving_keys);
      bring(stage.keys, layout.key_panels, layout.tile_panel, p.k, stage.keys_arrived(), row,
            key_head);
      if (tile == item.end_tile - 1)
        for (int c = 0; c < consumers; ++c) {
          if (items_before > 0) barrier_wait(memory.queries_free(c), (items_before - 1) & 1u);
          barrier_expect(memory.queries_arrived(c), layout.arriving_queries);
          bring(memory.queries(c), layout.key_panels, layout.row_panel, p.q,
                memory.queries_arrived(c), item.first_row + c * layout.rows, item.head);
        }
      if (step >= stages) barrier_wait(stage.values_free(), stage.parity ^ 1u);
      barrier_expect(stage.values_arrived(), layout.arriving_values);
      bring(stage.values, layout.value_panels, layout.tile_panel, p.v, stage.values_arrived(), row,
            key_head);
    }
    ++items_before;
  }
}

/// Writes each key's sum of log decays, and its bias for the item's first query: one number for
/// each key, which stands for all of the item's queries, because what a query has of its own is the
/// same for all keys. Runs on `bias_threads` threads.
__device__ __forceinline__ void write_biases(const FlashSm90Params& p, const Memory& memory) {
  constexpr int each = (block_n + bias_threads - 1) / bias_threads;
  const Items items(p.base);
  const int keys = static_cast<int>(p.base.key_seq);
  const int own_column = static_cast<int>(threadIdx.x) % bias_threads;
  int step = 0;
  for (Turns turn(items, memory, false); turn.left(); turn.next()) {
    const Item item = items.item(turn.index());
    if (item.first_tile >= item.end_tile) continue;
    const DecaySum* sums = items.sums(item);
    const int at = items.position(item.first_row);
    const DecaySum first = sums[at < 0 ? 0 : at];
    for (int tile = item.end_tile - 1; tile >= item.first_tile; --tile, ++step) {
      const Stage stage = memory.stage(step);
      DecaySum own[each];
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const int key = tile * block_n + i * bias_threads + own_column;
        own[i] = sums[key < keys ? key : keys - 1];
      }
      if (step >= stages) barrier_wait(stage.keys_free(), stage.parity ^ 1u);
      float one = 0.0f;  // of the warp's biases
      bool alike = true;
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const int column = i * bias_threads + own_column;
        const float bias =
            own[i].resets == first.resets ? difference(first, own[i]) : device::minus_infinity();
        if (i == 0) one = __shfl_sync(0xffffffffu, bias, 0);
        if (column >= block_n) continue;
        alike = alike && bias == one;
        store_shared(stage.biases + column * 4, __float_as_uint(bias));
        store_sum(stage.sums + column * 16, own[i]);
      }
      alike = __all_sync(0xffffffffu, alike);
      if (lane() == 0) {
        const unsigned to = stage.uniform + own_column / 32 * 8;
        store_shared(to, __float_as_uint(one));
        store_shared(to + 4, static_cast<unsigned>(alike));
      }
      barrier_arrive(stage.biases_written());
    }
  }
}

}  // namespace gla_bench::softmax_attention::sm90
