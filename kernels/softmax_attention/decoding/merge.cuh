#pragma once
// How the parts of a row of flash_decoding_sm90 become one. The time of this launch is that of a few
// accesses to memory, one after the other: each thread has four columns of some parts, all of them
// on their way before the first is used. A row with many parts has a block. Where no row has more
// parts than a thread takes at once, a warp has it, so that the blocks of all rows are at work at
// the same time.
//
// The row of a part is relative to its own largest logit: outputs divided by their sum, and the
// log2 of the sum. A part that saw no key has zeros and a log-sum of -inf.

#include "softmax_attention/decoding/block.cuh"

namespace gla_bench::softmax_attention::decoding {

struct Merge {
  static constexpr int block_threads = DecodingLayout::merge_threads;
  static constexpr int rows = launch::rows_of_merge;      // of a block
  static constexpr int threads = block_threads / rows;    // of a row
  static constexpr int warps = threads / 32;              // of a row
  static constexpr int packs = dim::value_dim / 4;        // of four columns
  static constexpr int packs_of_thread = (packs + threads - 1) / threads;
  static constexpr int groups = packs < threads ? threads / packs : 1;  // with the same columns
  static constexpr int at_once = DecodingLayout::parts_at_once;  // parts of a thread on their way
  // A row has at most one part of each gang.
  static constexpr int most_parts = rows == 1 ? layout.most_blocks : at_once;

  struct Row {
    float weights[most_parts];  // log-sums at first
    float decays[biased ? most_parts : 1];
    float of_warps[warps];
    float4 outputs[groups][packs];
  };

  const AttentionParams& p;
  Row& memory;
  unsigned row;  // index in [B, T, H]
  DecodingDivision division = division_of(p);
  unsigned heads = static_cast<unsigned>(p.heads), seq = static_cast<unsigned>(p.seq);
  int head = static_cast<int>(row % heads), query = static_cast<int>(row / heads % seq);
  int batch = static_cast<int>(row / heads / seq);
  int row_of_head = query * group + head % group;  // among those of its key head
  int heads_before = head / group + batch * static_cast<int>(p.key_heads);
  int sequence = heads_before / division.heads;
  int member = heads_before % division.heads * row_tiles_of(p) + row_of_head / layout.rows;
  int first_gang = division.first_gang(sequence), last_gang = division.last_gang(sequence);
  int parts = last_gang - first_gang + 1;

  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x) % threads; }
  /// Whether this thread is of the row's first warp.
  static __device__ __forceinline__ bool first_warp() { return thread() < 32; }
  /// Waits for the row's other threads.
  static __device__ __forceinline__ void meet() {
    if constexpr (warps == 1)
      __syncwarp();
    else
      __syncthreads();
  }

  /// Where a part's row lies among the rows of all parts.
  __device__ __forceinline__ long long at(int part) const {
    return division.part(first_gang + part, sequence, member) * layout.rows +
           row_of_head % layout.rows;
  }
  __device__ __forceinline__ float4 output(int part, int pack) const {
    return __ldcg(reinterpret_cast<const float4*>(Parts{p}.outputs() + at(part) * dim::value_dim) +
                  pack);
  }

  /// The sum, or the largest one, of what the row's threads have. All of them have met then.
  template <bool largest>
  __device__ __forceinline__ float of_all(float x) const {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, x, step);
      x = largest ? fmaxf(x, other) : x + other;
    }
    meet();
    if constexpr (warps == 1) return x;
    if (lane() == 0) memory.of_warps[warp()] = x;
    meet();
    x = memory.of_warps[0];
#pragma unroll
    for (int w = 1; w < warps; ++w)
      x = largest ? fmaxf(x, memory.of_warps[w]) : x + memory.of_warps[w];
    return x;
  }

  /// Makes the log-sums of parts relative to the query: adds what the keys of all later parts
  /// decay. Runs on one warp.
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
      if (part < parts) memory.weights[part] += later + (lane() == 31 ? 0.0f : others);
      later += __shfl_sync(0xffffffffu, from_here, 0);
    }
  }

  __device__ __forceinline__ void run() const {
    if (parts == 1) return;  // its block has written it
    const int pack = thread() % packs;  // the first of this thread's packs; `threads` apart
    const int own = thread() / packs;   // the first of its parts; `groups` apart
    float4 ahead[packs_of_thread][at_once];
#pragma unroll
    for (int n = 0; n < packs_of_thread; ++n)
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int part = own + i * groups;
        ahead[n][i] = is_own(n) && part < parts ? output(part, pack + n * threads)
                                                : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      }
    for (int n = thread(); n < parts; n += threads) {
      memory.weights[n] = __ldcg(Parts{p}.log_sums() + at(n));
      if constexpr (biased) memory.decays[n] = __ldcg(Parts{p}.decays() + at(n));
    }
    if constexpr (biased) {
      meet();
      if (first_warp()) add_later_decays();
      meet();
    }
    float top = device::minus_infinity(), sum = 0.0f;
    for (int n = thread(); n < parts; n += threads) top = fmaxf(top, memory.weights[n]);
    top = of_all<true>(top);
    if (top == device::minus_infinity()) top = 0.0f;  // no part has seen a key
    for (int n = thread(); n < parts; n += threads) {
      const float weight = device::exp2_fast(memory.weights[n] - top);
      memory.weights[n] = weight;
      sum += weight;
    }
    sum = of_all<false>(sum);
#pragma unroll
    for (int n = 0; n < packs_of_thread; ++n) {
      if (!is_own(n)) break;
      float4 all = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        if (own + i * groups < parts) add(all, memory.weights[own + i * groups], ahead[n][i]);
      if constexpr (rows == 1) {
#pragma unroll 4
        for (int part = own + at_once * groups; part < parts; part += groups)
          add(all, memory.weights[part], output(part, pack));
      }
      memory.outputs[own][pack + n * threads] = all;
    }
    meet();
    if (own != 0) return;
#pragma unroll
    for (int n = 0; n < packs_of_thread; ++n) {
      if (!is_own(n)) break;
      float4 all = memory.outputs[0][pack + n * threads];
#pragma unroll
      for (int i = 1; i < groups; ++i) add(all, 1.0f, memory.outputs[i][pack + n * threads]);
      write_row(p, batch, query, head, pack + n * threads, all, sum, top);
    }
  }

 private:
  /// Whether there is such a pack of this thread.
  static __device__ __forceinline__ bool is_own(int n) {
    return thread() / packs < groups && thread() % packs + n * threads < packs;
  }
  static __device__ __forceinline__ void add(float4& to, float weight, const float4& x) {
    to.x = fmaf(weight, x.x, to.x), to.y = fmaf(weight, x.y, to.y);
    to.z = fmaf(weight, x.z, to.z), to.w = fmaf(weight, x.w, to.w);
  }
};

}  // namespace gla_bench::softmax_attention::decoding
