#pragma once
// How the parts of a row of flash_decoding_sm90 become one. A block has one row. Each of its
// threads has four columns of some parts, all of them on their way before the first is used: the
// time of this launch is that of a few accesses to memory, one after the other.
//
// The row of a part is relative to its own largest logit: outputs divided by their sum, and the
// log2 of the sum. A part that saw no key has zeros and a log-sum of -inf.

#include "softmax_attention/decoding/block.cuh"

namespace gla_bench::softmax_attention::decoding {

struct Merge {
  static constexpr int threads = DecodingLayout::merge_threads, warps = threads / 32;
  static constexpr int packs = dim::value_dim / 4;       // of four columns
  static constexpr int groups = threads / packs;         // threads that have the same columns
  static constexpr int at_once = 8;                      // parts of a thread on their way
  static constexpr int most_parts = layout.most_blocks;  // a row has at most one of each gang

  struct Memory {
    float weights[most_parts];  // log-sums at first
    float decays[biased ? most_parts : 1];
    float of_warps[warps];
    float4 outputs[groups][packs];
  };

  const AttentionParams& p;
  Memory& memory;
  long long row;  // index in [B, T, H]
  DecodingDivision division = division_of(p);
  int query = static_cast<int>(row / p.heads % p.seq), head = static_cast<int>(row % p.heads);
  int batch = static_cast<int>(row / p.heads / p.seq);
  int row_of_head = query * group + head % group;  // among those of its key head
  int heads_before = head / group + batch * static_cast<int>(p.key_heads);
  int sequence = heads_before / division.heads;
  int member = heads_before % division.heads * row_tiles_of(p) + row_of_head / layout.rows;
  int first_gang = division.first_gang(sequence), last_gang = division.last_gang(sequence);
  int parts = last_gang - first_gang + 1;

  /// Where a part's row lies among the rows of all parts.
  __device__ __forceinline__ long long at(int part) const {
    return division.part(first_gang + part, sequence, member) * layout.rows +
           row_of_head % layout.rows;
  }
  __device__ __forceinline__ float4 output(int part, int pack) const {
    return __ldcg(reinterpret_cast<const float4*>(Parts{p}.outputs() + at(part) * dim::value_dim) +
                  pack);
  }

  /// The sum, or the largest one, of what all threads have. Begins and ends with a barrier.
  template <bool largest>
  __device__ __forceinline__ float of_all(float x) const {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, x, step);
      x = largest ? fmaxf(x, other) : x + other;
    }
    __syncthreads();
    if (lane() == 0) memory.of_warps[warp()] = x;
    __syncthreads();
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
    const int thread = static_cast<int>(threadIdx.x), pack = thread % packs;
    const int own = thread / packs;  // the first of this thread's parts; groups apart
    float4 ahead[at_once];
    if (own < groups)
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const int part = own + i * groups;
        ahead[i] = part < parts ? output(part, pack) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      }
    for (int n = thread; n < parts; n += threads) {
      memory.weights[n] = __ldcg(Parts{p}.log_sums() + at(n));
      if constexpr (biased) memory.decays[n] = __ldcg(Parts{p}.decays() + at(n));
    }
    if constexpr (biased) {
      __syncthreads();
      if (warp() == 0) add_later_decays();
      __syncthreads();
    }
    float top = device::minus_infinity(), sum = 0.0f;
    for (int n = thread; n < parts; n += threads) top = fmaxf(top, memory.weights[n]);
    top = of_all<true>(top);
    if (top == device::minus_infinity()) top = 0.0f;  // no part has seen a key
    for (int n = thread; n < parts; n += threads) {
      const float weight = device::exp2_fast(memory.weights[n] - top);
      memory.weights[n] = weight;
      sum += weight;
    }
    sum = of_all<false>(sum);
    if (own < groups) {
      float4 all = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (int i = 0; i < at_once; ++i)
        if (own + i * groups < parts) add(all, memory.weights[own + i * groups], ahead[i]);
#pragma unroll 4
      for (int part = own + at_once * groups; part < parts; part += groups)
        add(all, memory.weights[part], output(part, pack));
      memory.outputs[own][pack] = all;
    }
    __syncthreads();
    if (own != 0) return;
    float4 all = memory.outputs[0][pack];
#pragma unroll
    for (int n = 1; n < groups; ++n) add(all, 1.0f, memory.outputs[n][pack]);
    write_row(p, batch, query, head, pack, all, sum, top);
  }

 private:
  static __device__ __forceinline__ void add(float4& to, float weight, const float4& x) {
    to.x = fmaf(weight, x.x, to.x), to.y = fmaf(weight, x.y, to.y);
    to.z = fmaf(weight, x.z, to.z), to.w = fmaf(weight, x.w, to.w);
  }
};

}  // namespace gla_bench::softmax_attention::decoding
