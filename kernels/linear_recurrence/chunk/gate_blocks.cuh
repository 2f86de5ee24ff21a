#pragma once
// Forms the decayed operands of a block of `tokens` tokens times `keys` key dimensions. A block of
// threads forms them from raw rows in shared memory. A thread's item is 8 tokens of two
// neighbouring keys. First sum() adds the gates over whole blocks of 8 tokens. After a barrier, the
// other functions form the operands.
//
// Every sum starts at its reference and has only one sign. Its rounding error is therefore a share
// of an exponent that makes the factor small, and factors are exact to a few units in the last
// place. Where the output comes before the update, q's decays leave out the token's own gate.
//
// `ld`: leading dimension of the raw tiles and, unless another is given, of the operands.

#include "device/math.cuh"
#include "device/types.cuh"
#include "linear_recurrence/traits.cuh"

namespace gla_bench::linear_recurrence {

template <int tokens, int keys, int ld>
struct GateBlocks {
  static constexpr int blocks = tokens / 8, pairs = keys / 2, items = blocks * pairs;
  static constexpr bool before_own = trait::before_update != 0;

  /// Writes sums [blocks, keys]: the clamped gates of 8 tokens added up, in units of log2.
  template <int threads, typename G>
  __device__ __forceinline__ static void sum(const G* g, float* sums) {
    for (int item = threadIdx.x; item < items; item += threads) {
      const int b = item / pairs, key = item % pairs * 2;
      float2 x = {0.0f, 0.0f};
#pragma unroll
      for (int i = 0; i < 8; ++i) add_gate(x, g + (8 * b + i) * ld + key);
      device::store_pair(sums + b * keys + key, x.x, x.y);
    }
  }

  /// q times its decay from the start of the first block.
  template <typename Ops, int threads, typename T, typename G>
  __device__ __forceinline__ static void prefixed(const T* q, const G* g, const float* sums,
                                                  typename Ops::element* out, int out_ld) {
    for (int item = threadIdx.x; item < items; item += threads) {
      const int b = item / pairs, key = item % pairs * 2;
      prefix<Ops>(q, g, 8 * b, key, total(sums, key, 0, b), out, out_ld);
    }
  }

  /// k times its decay to the end of the last block, times `decays` [keys].
  template <typename Ops, int threads, typename T, typename G>
  __device__ __forceinline__ static void suffixed(const T* k, const G* g, const float* sums,
                                                  const float* decays, typename Ops::element* out) {
    for (int item = threadIdx.x; item < items; item += threads) {
      const int b = item / pairs, key = item % pairs * 2;
      suffix<Ops>(k, g, 8 * b, key, total(sums, key, b + 1, blocks),
                  device::load_pair(decays + key), out);
    }
  }

  /// Forms one level of the tree of halves, which have 8 << level tokens each. In right halves it
  /// writes q times its decay from the middle, in left halves k times its decay to the middle.
  template <typename Ops, int threads, typename T, typename G>
  __device__ __forceinline__ static void halves(const T* q, const T* k, const G* g,
                                                const float* sums, int level,
                                                typename Ops::element* out) {
    for (int item = threadIdx.x; item < items; item += threads) {
      const int b = item / pairs, key = item % pairs * 2, first = b >> level << level;
      if (b >> level & 1)
        prefix<Ops>(q, g, 8 * b, key, total(sums, key, first, b), out, ld);
      else
        suffix<Ops>(k, g, 8 * b, key, total(sums, key, b + 1, first + (1 << level)), {1.0f, 1.0f},
                    out);
    }
  }

  /// q and k times their decays from the middle of their 8 tokens. One of the two factors is a
  /// growth, of at most e^80. It uses products instead of sums, because what grows must be the
  /// inverse of what decays.
  template <typename Ops, int threads, typename T, typename G>
  __device__ __forceinline__ static void centred(const T* q, const T* k, const G* g,
                                                 typename Ops::element* out_q,
                                                 typename Ops::element* out_k) {
    for (int item = threadIdx.x; item < items; item += threads) {
      const int first = item / pairs * 8 * ld + item % pairs * 2;
      float2 e[8], decay = {1.0f, 1.0f};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        e[i] = {0.0f, 0.0f};
        add_gate(e[i], g + first + i * ld);
        e[i] = {device::exp2_fast(e[i].x), device::exp2_fast(e[i].y)};
      }
#pragma unroll
      for (int i = 3; i >= 0; --i) {
        const int at = first + i * ld;
        const float2 with_own = {decay.x * e[i].x, decay.y * e[i].y};
        put<Ops>(out_k + at, k + at, decay);
        put<Ops>(out_q + at, q + at, inverse(before_own ? with_own : decay));
        decay = with_own;
      }
      decay = {1.0f, 1.0f};
#pragma unroll
      for (int i = 4; i < 8; ++i) {
        const int at = first + i * ld;
        const float2 with_own = {decay.x * e[i].x, decay.y * e[i].y};
        put<Ops>(out_q + at, q + at, before_own ? decay : with_own);
        put<Ops>(out_k + at, k + at, inverse(with_own));
        decay = with_own;
      }
    }
  }

 private:
  template <typename G>
  __device__ __forceinline__ static void add_gate(float2& x, const G* g) {
    const float2 gate = device::load_pair(g);
    x.x += device::log2_gate(log_decay(gate.x));
    x.y += device::log2_gate(log_decay(gate.y));
  }

  __device__ __forceinline__ static float2 inverse(float2 x) {
    return {device::reciprocal_fast(x.x), device::reciprocal_fast(x.y)};
  }

  /// Sum over the blocks first..last-1.
  __device__ __forceinline__ static float2 total(const float* sums, int key, int first, int last) {
    float2 x = {0.0f, 0.0f};
    for (int b = first; b < last; ++b) {
      const float2 next = device::load_pair(sums + b * keys + key);
      x.x += next.x;
      x.y += next.y;
    }
    return x;
  }

  template <typename Ops, typename T>
  __device__ __forceinline__ static void put(typename Ops::element* to, const T* from,
                                             float2 factor) {
    const float2 x = device::load_pair(from);
    Ops::store_rounded(to, x.x * factor.x, x.y * factor.y);
  }

  template <typename Ops, typename T, typename G>
  __device__ __forceinline__ static void prefix(const T* q, const G* g, int row, int key, float2 x,
                                                typename Ops::element* out, int out_ld) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int at = (row + i) * ld + key;
      if constexpr (!before_own) add_gate(x, g + at);
      put<Ops>(out + (row + i) * out_ld + key, q + at,
               {device::exp2_fast(x.x), device::exp2_fast(x.y)});
      if constexpr (before_own) add_gate(x, g + at);
    }
  }

  template <typename Ops, typename T, typename G>
  __device__ __forceinline__ static void suffix(const T* k, const G* g, int row, int key, float2 x,
                                                float2 decay, typename Ops::element* out) {
#pragma unroll
    for (int i = 7; i >= 0; --i) {
      const int at = (row + i) * ld + key;
      put<Ops>(out + at, k + at,
               {decay.x * device::exp2_fast(x.x), decay.y * device::exp2_fast(x.y)});
      add_gate(x, g + at);
    }
  }
};

}  // namespace gla_bench::linear_recurrence
