#pragma once
// A consumer of flash_sm90: a warpgroup that has 64 queries and their outputs.

#include "softmax_attention/flash/parts.cuh"
#include "softmax_attention/sm90/weights.cuh"

namespace gla_bench::softmax_attention::sm90 {

struct Consumer {
  static constexpr int output_registers = layout.values / 2;
  /// Named barriers by which consumers take turns, one for each; 0 is __syncthreads().
  static constexpr int turn_barriers = 1, own_barriers = 1 + consumers;
  static constexpr int all_consumers = 1 + 2 * consumers;
  static constexpr bool in_turns = tile::ping_pong != 0 && consumers > 1;
  using ScoreProducts = Products<block_n, io_t>;
  using OutputProducts = Products<layout.values, io_t>;

  const FlashSm90Params& p;
  const Memory memory;
  Items items;
  Weights weights;
  float outputs[output_registers];
  Packed<block_n> packed;
  int step = 0, items_before = 0;

  __device__ __forceinline__ Consumer(const FlashSm90Params& params, const Memory& its_memory)
      : p(params), memory(its_memory), items(params.base), weights(items) {}

  __device__ __forceinline__ void run() {
    if constexpr (in_turns)
      if (group() == consumers - 1) named_arrive<256>(turn_barriers);
    for (Turns turn(items, memory, false); turn.left(); turn.next()) {
      const Item item = items.item(turn.index());
      if (item.first_tile >= item.end_tile)
        write_zeros(item);
      else if (biased && items.decays(item))
        attend<biased>(item);
      else
        attend<false>(item);
    }
  }

 private:
  __device__ __forceinline__ void take_turn() const {
    if constexpr (in_turns) named_barrier<256>(turn_barriers + group());
  }
  __device__ __forceinline__ void pass_turn() const {
    if constexpr (in_turns) named_arrive<256>(turn_barriers + (group() + 1) % consumers);
  }

  __device__ __forceinline__ void multiply_keys(Weights::Scores& scores, const Stage& stage) const {
    const unsigned queries = memory.queries(group());
    pin(scores);
    products_fence();
#pragma unroll
    for (int k = 0; k < (dim::key_dim + 15) / 16; ++k)
      ScoreProducts::template shared<along_k>(
          scores, operand(queries + k / 4 * layout.row_panel + k % 4 * 32),
          operand(stage.keys + k / 4 * layout.tile_panel + k % 4 * 32), k > 0);
    products_commit();
  }
  __device__ __forceinline__ void multiply_values(const Stage& stage, bool add) {
    pin(outputs);
    pin_packed(packed);
    products_fence();
#pragma unroll
    for (int k = 0; k < block_n / 16; ++k)
      OutputProducts::template registers<along_mn>(
          outputs, packed[k], operand(stage.values + k * 16 * 128, layout.tile_panel),
          k > 0 || add);
    products_commit();
  }
  template <int left>
  __device__ __forceinline__ void wait(float (&products)[block_n / 2]) const {
    products_wait<left>();
    pin(products);
  }
  __device__ __forceinline__ void wait_outputs() {
    products_wait<0>();
    pin(outputs);
    pin_packed(packed);
  }
  /// An arrival overtakes loads of biases that are still on their way, and without a fence so may a
  /// copy into their place. A lane that has read biases arrives for itself: of what others have
  /// read, a lane that arrives for them knows only by a barrier of the warp, which racecheck does
  /// not take for enough.
  template <bool decays>
  __device__ __forceinline__ void release_keys(const Stage& stage) const {
    if constexpr (decays) {
      publish_shared();
      barrier_arrive(stage.keys_free());
    } else if constexpr (biased) {
      arrive_for_lanes(stage.keys_free());
    } else {
      arrive_as_warp(stage.keys_free());
    }
  }
  /// Clears the values behind the last key of a ragged sequence, where those of the next one lie:
  /// their weights are zero, but zero times NaN is NaN.
  __device__ __forceinline__ void clear_behind(int valid, const Stage& stage) const {
    if (valid >= block_n) return;
    barrier_wait(stage.values_arrived(), stage.parity);
    const unsigned panel_bytes = (block_n - valid) * 128;
    for (unsigned i = (threadIdx.x - 128) * 4; i < layout.value_panels * panel_bytes;
         i += 128 * consumers * 4)
      store_shared(
          stage.values + i / panel_bytes * layout.tile_panel + valid * 128 + i % panel_bytes, 0u);
    publish_shared();
    named_barrier<128 * consumers>(all_consumers);
  }
  /// `decays`: whether something decays between the item's queries and its keys.
  template <bool decays>
  __device__ __forceinline__ void attend(const Item& item) {
    barrier_wait(memory.queries_arrived(group()), items_before & 1u);
    weights.start<decays>(item);
    Weights::Scores scores;
    Stage stage = memory.stage(step);
    barrier_wait(stage.keys_arrived(), stage.parity);
    multiply_keys(scores, stage);
    wait<0>(scores);
    weights.weigh<decays>(scores, item.end_tile - 1, stage, [&] { release_keys<decays>(stage); });
    pack_rows<block_n>(scores, packed);
    if constexpr (trait::ragged != 0)
      clear_behind(items.keys() - (item.end_tile - 1) * block_n, stage);
    for (int tile = item.end_tile - 2; tile >= item.first_tile; --tile) {
      const Stage next = memory.stage(step + 1);
      const bool add = tile < item.end_tile - 2;
      if constexpr (tile::overlap != 0) {
        barrier_wait(next.keys_arrived(), next.parity);
        take_turn();
        multiply_keys(scores, next);
        barrier_wait(stage.values_arrived(), stage.parity);
        multiply_values(stage, add);
        pass_turn();
        wait<1>(scores);
        weights.weigh<decays>(scores, tile, next, [&] { release_keys<decays>(next); });
        wait_outputs();
        arrive_as_warp(stage.values_free());
      } else {
        take_turn();
        barrier_wait(stage.values_arrived(), stage.parity);
        multiply_values(stage, add);
        barrier_wait(next.keys_arrived(), next.parity);
        multiply_keys(scores, next);
        pass_turn();
        wait_outputs();
        pin(scores);
        arrive_as_warp(stage.values_free());
        weights.weigh<decays>(scores, tile, next, [&] { release_keys<decays>(next); });
      }
      rescale();
      pack_rows<block_n>(scores, packed);
      stage = next;
      ++step;
    }
    barrier_wait(stage.values_arrived(), stage.parity);
    multiply_values(stage, item.end_tile - item.first_tile > 1);
    wait_outputs();
    arrive_as_warp(stage.values_free());
    ++step;
    ++items_before;
    if constexpr (divided)
      leave(item);
    else
      write(item);
  }

  __device__ __forceinline__ void rescale() {
    if (!weights.changed) return;
#pragma unroll
    for (int i = 0; i < output_registers; ++i) outputs[i] *= weights.rescale[i / 2 % 2];
  }

  __device__ __forceinline__ void write_lse(const Item& item, int row, float lse) const {
    if constexpr (trait::lse != 0)
      if (lane() % 4 == 0 && row < items.queries())
        p.base.lse[item.batch * p.base.lse_strides.batch + item.head * p.base.lse_strides.heads +
                   (item.part.first_query + row) * p.base.lse_strides.seq] = lse;
  }
  /// Where the outputs of a query go.
  __device__ __forceinline__ io_t* output(const Item& item, int row) const {
    const TokenStrides& s = p.base.output_strides;
    return static_cast<io_t*>(p.base.o) + item.batch * s.batch + item.head * s.heads +
           (item.part.first_query + row) * s.seq;
  }
  /// Writes the outputs of rows that a ragged sequence does not fill up: a bulk copy would write
  /// to the next one.
  __device__ __forceinline__ void write_some(const Item& item, const float (&by)[2]) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (weights.row(h) >= items.queries()) continue;
      io_t* to = output(item, weights.row(h));
#pragma unroll
      for (int i = 0; i < output_registers; i += 4)
        if (column_of(i) < dim::value_dim)
          device::store_pair(to + column_of(i), by[h] * outputs[i + 2 * h],
                             by[h] * outputs[i + 2 * h + 1]);
    }
  }

  /// Leaves the outputs and log-sums of a part of the keys for merge.cuh.
  __device__ __forceinline__ void leave(const Item& item) const {
    const SplitParts<work_parts> target{p.base};
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float total = Weights::of_quad(weights.sum[h]);
      const float by = total == 0.0f ? 0.0f : 1.0f / total;
      if (weights.row(h) >= items.queries()) continue;
      const long long at = target.at(item.share, item.batch, weights.row(h), item.head);
#pragma unroll
      for (int i = 0; i < output_registers; i += 4)
        if (column_of(i) < dim::value_dim)
          device::store_pair(target.outputs() + at * dim::value_dim + column_of(i),
                             by * outputs[i + 2 * h], by * outputs[i + 2 * h + 1]);
      if (lane() % 4 == 0)
        target.log_sums()[at] =
            total == 0.0f ? device::minus_infinity() : weights.reference[h] + __log2f(total);
    }
    named_barrier<128>(own_barriers + group());
    if (first_of_group()) barrier_arrive(memory.queries_free(group()));
  }

  /// Divides the outputs and hands them to bulk copies through the place of the queries.
  __device__ __forceinline__ void write(const Item& item) {
    float by[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float total = Weights::of_quad(weights.sum[h]);
      by[h] = total == 0.0f ? 0.0f : 1.0f / total;
      write_lse(item, weights.row(h), (weights.reference[h] + __log2f(total)) * device::ln_2);
    }
    if (trait::ragged != 0 && item.first_row + (group() + 1) * layout.rows > items.queries()) {
      write_some(item, by);
      named_barrier<128>(own_barriers + group());
      if (first_of_group()) barrier_arrive(memory.queries_free(group()));
      return;
    }
    Packed<layout.values> rows;
    pack_rows<layout.values>(outputs, rows, by[0], by[1]);
    const unsigned to = memory.queries(group());
    put_rows(rows, to, layout.row_panel, 0);
    publish_shared();
    named_barrier<128>(own_barriers + group());
    if (first_of_group()) {
      for (int i = 0; i < layout.value_panels; ++i)
        copy_out(p.o, to + i * layout.row_panel, i * layout.columns,
                 item.part.first_query + item.first_row + group() * layout.rows, item.head,
                 item.batch);
      copies_commit();
      copies_read<0>();
      barrier_arrive(memory.queries_free(group()));
    }
  }

  /// For queries that see no key.
  __device__ __forceinline__ void write_zeros(const Item& item) const {
    const int first = item.first_row + group() * layout.rows;
    for (int i = static_cast<int>(threadIdx.x) % 128; i < layout.rows * dim::value_dim; i += 128) {
      const int row = first + i / dim::value_dim, column = i % dim::value_dim;
      if (row >= items.queries()) continue;
      if constexpr (divided) {
        const SplitParts<work_parts> target{p.base};
        const long long at = target.at(item.share, item.batch, row, item.head);
        target.outputs()[at * dim::value_dim + column] = 0.0f;
        if (column == 0) target.log_sums()[at] = device::minus_infinity();
      } else {
        output(item, row)[column] = device::from_float<io_t>(0.0f);
      }
    }
    for (int half = 0; half < 2 && !divided; ++half)
      write_lse(item, first + row_of(half), device::minus_infinity());
  }
};

}  // namespace gla_bench::softmax_attention::sm90
