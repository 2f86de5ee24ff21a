#pragma once
// What one thread of flash_sm90 has copied. With a decay, the biases of a tile come with its keys,
// and the sums of log decays themselves where queries see only a part of the tile.

#include "device/bulk_copy.cuh"
#include "softmax_attention/sm90/items.cuh"

namespace gla_bench::softmax_attention::sm90 {

/// Has queries, keys and values copied as their places become free. Runs on one thread.
__device__ __forceinline__ void load_tiles(const FlashSm90Params& p, const Memory& memory) {
  prefetch_map(p.q), prefetch_map(p.k), prefetch_map(p.v);
  Items items(p.base);
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
    // Of a ragged batch, a tile that its sequence does not fill has rows of the next sequence.
    const int first_query = item.part.first_query, first_key = item.part.first_key;
    for (int tile = item.end_tile - 1; tile >= item.first_tile; --tile, ++step) {
      const Stage stage = memory.stage(step);
      const int row = tile * block_n;
      if (step >= stages) barrier_wait(stage.keys_free(), stage.parity ^ 1u);
      const int left = static_cast<int>(p.base.key_seq) - row;
      const unsigned of_sums =
          biased && !items.seen_whole(item, tile) ? 16 * (left < block_n ? left : block_n) : 0;
      barrier_expect(stage.keys_arrived(), layout.arriving_keys + layout.arriving_biases + of_sums);
      bring(stage.keys, layout.key_panels, layout.tile_panel, p.k, stage.keys_arrived(),
            first_key + row, key_head);
      if constexpr (biased) {
        copy_bytes_in(stage.biases, items.biases(item) + tile, layout.arriving_biases,
                      stage.keys_arrived());
        if (of_sums != 0)
          copy_bytes_in(stage.sums, items.sums(item) + row, of_sums, stage.keys_arrived());
      }
      if (tile == item.end_tile - 1)
        for (int c = 0; c < consumers; ++c) {
          if (items_before > 0) barrier_wait(memory.queries_free(c), (items_before - 1) & 1u);
          barrier_expect(memory.queries_arrived(c), layout.arriving_queries);
          bring(memory.queries(c), layout.key_panels, layout.row_panel, p.q,
                memory.queries_arrived(c), first_query + item.first_row + c * layout.rows,
                item.head);
        }
      if (step >= stages) barrier_wait(stage.values_free(), stage.parity ^ 1u);
      barrier_expect(stage.values_arrived(), layout.arriving_values);
      bring(stage.values, layout.value_panels, layout.tile_panel, p.v, stage.values_arrived(),
            first_key + row, key_head);
    }
    ++items_before;
  }
}

}  // namespace gla_bench::softmax_attention::sm90
