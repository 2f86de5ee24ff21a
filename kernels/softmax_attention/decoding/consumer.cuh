#pragma once
// A warp of flash_decoding_sm90 that multiplies: all rows of the block with its own keys of every
// tile. Its references, sums and outputs are its own until the walk is over.

#include "device/products.cuh"
#include "softmax_attention/decoding/block.cuh"

namespace gla_bench::softmax_attention::decoding {

struct Consumer {
  using Ops = device::SixteenBitProducts<io_t>;
  static constexpr int column_tiles = layout.keys_of_warp / 8, key_steps = layout.keys / 16;
  static constexpr int value_tiles = layout.values / 8;
  /// How far (log2) a logit may exceed its reference before the outputs are rescaled.
  static constexpr float slack = 8.0f;
  static_assert(layout.keys_of_warp % 16 == 0);

  const Item& item;
  const Memory& memory;
  Ops::A queries[layout.queries_in_shared ? 1 : key_steps];
  float outputs[value_tiles][4] = {};
  float reference[2] = {device::minus_infinity(), device::minus_infinity()}, sum[2] = {};
  float offset[2] = {};        // what a row's biases have in common in a tile
  int limits[2], bias_row[2];  // rows that do not exist have the biases of the last one

  __device__ __forceinline__ Consumer(const Item& its_item, const Memory& its_memory)
      : item(its_item), memory(its_memory) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      limits[h] = item.limit(row(h));
      bias_row[h] = row(h) < item.rows ? row(h) : item.rows - 1;
      const bool exists = row(h) < item.rows;
      const io_t* q = item.q(exists ? row(h) : 0);
#pragma unroll
      for (int i = 0; i < 2 * key_steps; ++i) {
        const int column = 8 * i + lane() % 4 * 2;
        const bool valid = exists && column < dim::key_dim;
        const unsigned two = valid ? *reinterpret_cast<const unsigned*>(q + column) : 0u;
        if constexpr (!layout.queries_in_shared)
          queries[i / 2].r[i % 2 * 2 + h] = two;
        else if (i / 2 % layout.warps == warp())  // all warps have the same rows
          memory.query_operand(i / 2, lane())[i % 2 * 2 + h] = two;
      }
    }
    if constexpr (layout.queries_in_shared) named_barrier<32 * layout.warps>(consumers_barrier);
  }

  /// Of the warps that multiply; 0 is __syncthreads().
  static constexpr int consumers_barrier = 1;

  static __device__ __forceinline__ int row(int half) {
    return lane() / 4 + 8 * half;
  }
  /// The warp's first key of a tile.
  static __device__ __forceinline__ int first_key() {
    return warp() * layout.keys_of_warp;
  }

  __device__ __forceinline__ void run() {
    for (int step = 0; step < item.tiles; ++step) {
      float scores[column_tiles][4] = {};
      barrier_wait(memory.keys_arrived(step), memory.parity(step));
      multiply_keys(scores, memory.keys(step));
      if constexpr (biased) barrier_wait(memory.biases_arrived(step), memory.parity(step));
      const bool any = weigh(scores, step);
      barrier_wait(memory.values_arrived(step), memory.parity(step));
      if (any) {
        if (!biased || memory.copied(step))
          multiply_values(scores, memory.values(step));
        else
          multiply_values_of_device(scores, step);
      }
      if constexpr (biased)
#pragma unroll
        for (int h = 0; h < 2; ++h) offset[h] += memory.total(bias_row[h], step);
      // An arrival overtakes loads from shared memory that are still on their way. Without a fence
      // a copy into the stage may, too.
      publish_shared();
      if constexpr (biased) {
        barrier_arrive(memory.free(step));
      } else {
        __syncwarp();
        if (lane() == 0) barrier_arrive(memory.free(step));
      }
    }
  }

 private:
  /// Operands of 16 keys and 16 columns.
  static __device__ __forceinline__ const void* place(const unsigned char* tile, int row,
                                                      int column) {
    return tile + column / layout.columns * layout.panel +
           swizzled(static_cast<unsigned>(row), static_cast<unsigned>(column % layout.columns * 2));
  }
  __device__ __forceinline__ Ops::A query_operand(int step) const {
    if constexpr (!layout.queries_in_shared) return queries[step];
    const uint4 four = *reinterpret_cast<const uint4*>(memory.query_operand(step, lane()));
    return {{four.x, four.y, four.z, four.w}};
  }
  __device__ __forceinline__ void multiply_keys(float (&scores)[column_tiles][4],
                                                const unsigned char* keys) const {
    const int matrix = lane() / 8, key = first_key() + matrix / 2 * 8 + lane() % 8;
#pragma unroll
    for (int step = 0; step < key_steps; ++step) {
      const Ops::A a = query_operand(step);
#pragma unroll
      for (int n = 0; n < column_tiles; n += 2) {
        unsigned r[4];
        device::load_matrices(r, place(keys, key + 8 * n, 16 * step + matrix % 2 * 8));
        Ops::multiply(scores[n], a, Ops::B{{r[0], r[1]}});
        Ops::multiply(scores[n + 1], a, Ops::B{{r[2], r[3]}});
      }
    }
  }
  __device__ __forceinline__ void multiply_values(const float (&weights)[column_tiles][4],
                                                  const unsigned char* values) {
    const int matrix = lane() / 8, key = first_key() + matrix % 2 * 8 + lane() % 8;
#pragma unroll
    for (int step = 0; step < column_tiles / 2; ++step) {
      const Ops::A a = Ops::from_accumulators(weights, step);
#pragma unroll
      for (int n = 0; n < value_tiles; n += 2) {
        unsigned r[4];
        device::load_matrices_transposed(r, place(values, key + 16 * step, 8 * n + matrix / 2 * 8));
        Ops::multiply(outputs[n], a, Ops::B{{r[0], r[1]}});
        Ops::multiply(outputs[n + 1], a, Ops::B{{r[2], r[3]}});
      }
    }
  }
  /// The same with values that were not copied.
  __device__ __forceinline__ void multiply_values_of_device(const float (&weights)[column_tiles][4],
                                                            int step) {
    const long long tile = item.first_key + (item.tiles - 1 - step) * block_n + first_key();
#pragma unroll 1
    for (int part = 0; part < column_tiles / 2; ++part) {
      const Ops::A a = operand(weights, part);
#pragma unroll
      for (int n = 0; n < value_tiles; ++n) {
        Ops::B b;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const long long key = tile + 16 * part + 8 * half + lane() % 4 * 2;
          b.r[half] = value(key, 8 * n + lane() / 4) | value(key + 1, 8 * n + lane() / 4) << 16;
        }
        Ops::multiply(outputs[n], a, b);
      }
    }
  }
  static __device__ __forceinline__ Ops::A operand(const float (&weights)[column_tiles][4],
                                                   int part) {
    Ops::A a = Ops::from_accumulators(weights, 0);
#pragma unroll
    for (int n = 1; n < column_tiles / 2; ++n)
      if (n == part) a = Ops::from_accumulators(weights, n);
    return a;
  }
  __device__ __forceinline__ unsigned value(long long key, int column) const {
    if (key >= item.p.key_seq || column >= dim::value_dim) return 0u;
    return *reinterpret_cast<const unsigned short*>(item.v(key) + column);
  }

  /// Turns scores into 2^(logit - reference) and adds them to the sums. Returns whether the values
  /// of the keys are needed.
  __device__ __forceinline__ bool weigh(float (&scores)[column_tiles][4], int step) {
    const int first = (item.tiles - 1 - step) * block_n + first_key() + lane() % 4 * 2;
    const float factor = item.p.scale * device::log2_e;
    const bool whole =
        first_of_all(step) + layout.keys_of_warp <= (limits[0] < limits[1] ? limits[0] : limits[1]);
    float largest[2], rescale[2];
    bool needed = !biased, changed = false;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      largest[h] = device::minus_infinity();
#pragma unroll
      for (int n = 0; n < column_tiles; ++n) {
        float2 bias = make_float2(0.0f, 0.0f);
        if constexpr (biased)
          bias = device::load_pair(memory.biases(step, bias_row[h]) + first_key() + 8 * n +
                                   lane() % 4 * 2);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores[n][2 * h + e];
          score =
              biased ? fmaf(score, factor, (e == 0 ? bias.x : bias.y) + offset[h]) : score * factor;
          if (!whole && first + 8 * n + e >= limits[h]) score = device::minus_infinity();
          largest[h] = fmaxf(largest[h], score);
        }
      }
      if constexpr (biased) needed = needed || !(largest[h] <= memory.least(bias_row[h]));
    }
    if constexpr (biased)
      if (!__any_sync(0xffffffffu, needed)) return false;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      largest[h] = fmaxf(largest[h], __shfl_xor_sync(0xffffffffu, largest[h], 1));
      largest[h] = fmaxf(largest[h], __shfl_xor_sync(0xffffffffu, largest[h], 2));
      const float before = reference[h];
      if (largest[h] > before + slack) {
        reference[h] = largest[h];
        changed = true;
      }
      rescale[h] = device::exp2_fast(before - base(h));
    }
    if (__any_sync(0xffffffffu, changed)) {
#pragma unroll
      for (int n = 0; n < value_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) outputs[n][i] *= rescale[i / 2];
      sum[0] *= rescale[0];
      sum[1] *= rescale[1];
    }
#pragma unroll
    for (int n = 0; n < column_tiles; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores[n][i] = device::exp2_fast(scores[n][i] - base(i / 2));
        sum[i / 2] += scores[n][i];
      }
    return true;
  }
  /// The warp's first key of a step, counted from the block's first one.
  __device__ __forceinline__ int first_of_all(int step) const {
    return (item.tiles - 1 - step) * block_n + first_key();
  }
  /// What exponents are relative to: finite also for a row that has seen nothing.
  __device__ __forceinline__ float base(int half) const {
    return reference[half] == device::minus_infinity() ? 0.0f : reference[half];
  }

 public:
  /// Leaves the warp's part in shared memory.
  __device__ __forceinline__ void put_part() const {
    float* parts = reinterpret_cast<float*>(memory.shared);
    float2* sums = reinterpret_cast<float2*>(memory.shared + layout.partial_bytes);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int place = warp() * layout.rows + row(h);
      float all = sum[h] + __shfl_xor_sync(0xffffffffu, sum[h], 1);
      all += __shfl_xor_sync(0xffffffffu, all, 2);
      if (lane() % 4 == 0) sums[place] = make_float2(reference[h], all);
#pragma unroll
      for (int n = 0; n < value_tiles; ++n)
        device::store_pair(parts + place * layout.partial_ld + 8 * n + lane() % 4 * 2,
                           outputs[n][2 * h], outputs[n][2 * h + 1]);
    }
  }
};

/// Merges the parts of the block's warps, four columns to a thread at a time.
__device__ __forceinline__ void write_rows(const Item& item, const Memory& memory) {
  constexpr int packs = dim::value_dim / 4;
  const float* parts = reinterpret_cast<const float*>(memory.shared);
  const float2* sums = reinterpret_cast<const float2*>(memory.shared + layout.partial_bytes);
  for (int i = threadIdx.x; i < item.rows * packs; i += layout.threads) {
    const int row = i / packs, pack = i % packs;
    float top = device::minus_infinity(), total = 0.0f;
    float4 all = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int w = 0; w < layout.warps; ++w)
      if (sums[w * layout.rows + row].y != 0.0f) top = fmaxf(top, sums[w * layout.rows + row].x);
#pragma unroll
    for (int w = 0; w < layout.warps; ++w) {
      const int place = w * layout.rows + row;
      if (sums[place].y == 0.0f) continue;
      const float weight = device::exp2_fast(sums[place].x - top);
      const float4 part =
          *reinterpret_cast<const float4*>(parts + place * layout.partial_ld + 4 * pack);
      total += weight * sums[place].y;
      all.x = fmaf(weight, part.x, all.x), all.y = fmaf(weight, part.y, all.y);
      all.z = fmaf(weight, part.z, all.z), all.w = fmaf(weight, part.w, all.w);
    }
    if (item.part < 0) {
      write_row(item.p, item.batch, item.query(row), item.head(row), pack, all, total, top);
      continue;
    }
    const long long at = item.part * layout.rows + row;
    const float by = total == 0.0f ? 0.0f : 1.0f / total;
    reinterpret_cast<float4*>(Parts{item.p}.outputs() + at * dim::value_dim)[pack] =
        make_float4(by * all.x, by * all.y, by * all.z, by * all.w);
    if (pack == 0)
      Parts{item.p}.log_sums()[at] =
          total == 0.0f ? device::minus_infinity() : top + log2f(total);
  }
}

}  // namespace gla_bench::softmax_attention::decoding
