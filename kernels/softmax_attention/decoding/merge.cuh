#pragma once
// How the parts of a row of flash_decoding_sm90 become one. The time of this launch is that of a
// few accesses to memory, one after the other, and of its instructions' arrival: a version with
// 23 KB of them in place of 18 took 1.3 us longer on an H200. So the code is short. Each thread
// has four columns of some parts, all of them on their way before the first is used. A row with
// many parts has a block. Where no row has more parts than a thread takes at once, a warp has it,
// so that all rows are at work at the same time.
//
// The row of a part is relative to its own largest logit: outputs divided by their sum, and the
// log2 of the sum. A part that saw no key has zeros and a log-sum of -inf.

#include "softmax_attention/decoding/block.cuh"

namespace gla_bench::softmax_attention::decoding {

/// One row. A block has `rows` of them at a time.
template <int rows>
struct Merge {
  static constexpr int threads = DecodingLayout::merge_threads / rows;  // of a row
  static constexpr int packs = dim::value_dim / 4;                      // of four columns
  static constexpr int packs_of_thread = (packs + threads - 1) / threads;
  static constexpr int groups = packs < threads ? threads / packs : 1;  // with the same columns
  static constexpr int at_once = DecodingLayout::parts_at_once;  // parts of a thread on their way
  // A row has at most one part of each gang.
  static constexpr int most_parts = rows == 1 ? layout.most_blocks : at_once;

  struct Row {
    float log_sums[most_parts];
    float decays[biased ? most_parts : 1];
    float4 outputs[groups][packs];
  };

  const AttentionParams& p;
  const DecodingDivision& division;
  Row& memory;
  unsigned row;  // index in [B, T, H]
  unsigned heads = static_cast<unsigned>(p.heads), seq = static_cast<unsigned>(p.seq);
  int head = static_cast<int>(row % heads), query = static_cast<int>(row / heads % seq);
  int batch = static_cast<int>(row / heads / seq);
  int row_of_head = query * group + head % group;  // among those of its key head
  int heads_before = head / group + batch * static_cast<int>(p.key_heads);
  int sequence = heads_before / division.heads;
  int member = heads_before % division.heads * row_tiles_of(p) + row_of_head / layout.rows;
  int first_gang = division.first_gang(sequence);
  int parts = division.last_gang(sequence) - first_gang + 1;
  // Where the row of the first part lies among the rows of all parts, and from each to the next. A
  // row has several parts only where there are several gangs, which then have few members: 32 bits
  // hold what lies between parts.
  long long first_place = division.part(first_gang, sequence, member) * layout.rows +
                          row_of_head % layout.rows;
  int to_next = division.members * layout.rows;

  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x) % threads; }
  /// Waits for the row's other threads.
  static __device__ __forceinline__ void meet() {
    if constexpr (threads == 32)
      __syncwarp();
    else
      __syncthreads();
  }
  /// The largest of a warp's numbers, or their sum.
  template <bool largest>
  static __device__ __forceinline__ float of_warp(float x) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, x, step);
      x = largest ? fmaxf(x, other) : x + other;
    }
    return x;
  }

  /// Makes the log-sums of parts relative to the query: adds what the keys of all later parts
  /// decay. Runs on the row's first warp.
  __device__ __forceinline__ void add_later_decays() const {
    float later = 0.0f;
    for (int first = (parts - 1) / 32 * 32; first >= 0; first -= 32) {
      const int part = first + lane();
      float from_here = part < parts ? memory.decays[part] : 0.0f;
#pragma unroll
      for (int n = 1; n < 32; n *= 2) {
        const float other = __shfl_down_sync(0xffffffffu, from_here, n);
        if (lane() + n < 32) from_here += other;
      }
      const float others = __shfl_down_sync(0xffffffffu, from_here, 1);
      if (part < parts) memory.log_sums[part] += later + (lane() == 31 ? 0.0f : others);
      later += __shfl_sync(0xffffffffu, from_here, 0);
    }
  }

  __device__ __forceinline__ void run() const {
    if (parts == 1) return;  // its block has written it
    const int own = thread() / packs;   // the first of this thread's parts; `groups` apart
    const int pack = thread() % packs;  // the first of its packs; `threads` apart
    const float4* const outputs = reinterpret_cast<const float4*>(Parts{p}.outputs()) +
                                  first_place * packs + pack;
    float4 ahead[packs_of_thread][at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i)
#pragma unroll
      for (int n = 0; n < packs_of_thread; ++n)
        if (own + i * groups < parts && pack + n * threads < packs)
          ahead[n][i] = load(outputs, own + i * groups, n);
    for (int n = thread(); n < parts; n += threads) {
      memory.log_sums[n] = __ldcg(Parts{p}.log_sums() + first_place + n * to_next);
      if constexpr (biased)
        memory.decays[n] = __ldcg(Parts{p}.decays() + first_place + n * to_next);
    }
    meet();
    if constexpr (biased) {
      if (thread() < 32) add_later_decays();
      meet();
    }
    // Every warp for itself, so that none waits for another.
    float top = device::minus_infinity(), sum = 0.0f;
#pragma unroll 1
    for (int n = lane(); n < parts; n += 32) top = fmaxf(top, memory.log_sums[n]);
    top = of_warp<true>(top);
    if (top == device::minus_infinity()) top = 0.0f;  // no part has seen a key
#pragma unroll 1
    for (int n = lane(); n < parts; n += 32) sum += device::exp2_fast(memory.log_sums[n] - top);
    sum = of_warp<false>(sum);

    float4 all[packs_of_thread] = {};
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (own + i * groups >= parts) break;
      const float weight = weight_of(own + i * groups, top);
#pragma unroll
      for (int n = 0; n < packs_of_thread; ++n)
        if (pack + n * threads < packs) add(all[n], weight, ahead[n][i]);
    }
    if constexpr (rows == 1) {
#pragma unroll 4
      for (int part = own + at_once * groups; part < parts; part += groups)
        add(all[0], weight_of(part, top), load(outputs, part, 0));
    }
    if constexpr (groups > 1) {
      if (own < groups) memory.outputs[own][pack] = all[0];
      meet();
    }
    if (own != 0) return;
#pragma unroll
    for (int i = 1; i < groups; ++i) add(all[0], 1.0f, memory.outputs[i][pack]);
#pragma unroll
    for (int n = 0; n < packs_of_thread; ++n)
      if (pack + n * threads < packs)
        write_row(p, batch, query, head, pack + n * threads, all[n], sum, top);
  }

 private:
  __device__ __forceinline__ float4 load(const float4* outputs, int part, int n) const {
    return __ldcg(outputs + part * (to_next * packs) + n * threads);
  }
  __device__ __forceinline__ float weight_of(int part, float top) const {
    return device::exp2_fast(memory.log_sums[part] - top);
  }
  static __device__ __forceinline__ void add(float4& to, float weight, const float4& x) {
    to.x = fmaf(weight, x.x, to.x), to.y = fmaf(weight, x.y, to.y);
    to.z = fmaf(weight, x.z, to.z), to.w = fmaf(weight, x.w, to.w);
  }
};

union MergeMemory {
  static constexpr int rows = DecodingLayout::merge_threads / 32;
  Merge<1>::Row of_block;
  Merge<rows>::Row of_warps[rows];
};

/// The rows of a warp or block, `rows` of which a block has at a time.
template <int rows>
__device__ __forceinline__ void merge_rows(const AttentionParams& p,
                                           const DecodingDivision& division,
                                           typename Merge<rows>::Row* memory) {
  const unsigned place = threadIdx.x / Merge<rows>::threads;
  for (unsigned row = blockIdx.x * rows + place; row < p.batch * p.seq * p.heads;
       row += gridDim.x * rows) {
    const Merge<rows> merge{p, division, memory[place], row};
    wait_for_launch_before();
    merge.run();
    merge.meet();  // memory has been read
  }
}

}  // namespace gla_bench::softmax_attention::decoding
