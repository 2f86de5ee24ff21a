#pragma once
// Frames of eight tokens, for chunks of chunk_sm90 whose gates are strong.
//
// The bounds of eight tokens are the sums of log2 decays where they begin and end, rounded; their
// reference r lies half way between. In their frame q is 2^(b-r) of itself and k 2^(r-b): at most
// 2^97, since eight tokens decay by 192 bits and both bounds are rounded. All steps from one frame
// to another are powers of two with whole numbers of bits, made of exponents alone, and multiply
// two keys at once, packed: exact. From a reference to a bound they are at least 2^-97, so normal
// numbers of bfloat16. At a bound all q behind it and all k before it are at most themselves, and
// what becomes less than a normal number there is not missed.

#include "linear_recurrence/sm90/block.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Whole numbers of bits of two keys.
struct Bits {
  int x, y;
};

/// By the mantissa of 1.5 2^23 + x.
__device__ __forceinline__ int rounded(float x) {
  return __float_as_int(x + 12582912.0f) - 0x4b400000;
}
__device__ __forceinline__ Bits rounded(float2 x) {
  return {rounded(x.x), rounded(x.y)};
}
/// The inverse.
__device__ __forceinline__ float number(int bits) {
  return __int_as_float(bits + 0x4b400000) - 12582912.0f;
}
/// 2^bits, zero for less than 2^-126.
__device__ __forceinline__ float power(int bits) {
  return __int_as_float((max(bits, -127) + 127) << 23);
}
/// 2^bits in bfloat16, of -127 and more: zero for -127.
__device__ __forceinline__ unsigned powers(Bits bits) {
  return (static_cast<unsigned>(bits.y) << 23) + (static_cast<unsigned>(bits.x) << 7) + 0x3f803f80u;
}
__device__ __forceinline__ unsigned powers_or_zero(Bits bits) {
  return powers({max(bits.x, -127), max(bits.y, -127)});
}
/// Two products in bfloat16.
__device__ __forceinline__ unsigned times(unsigned a, unsigned b) {
  unsigned product;
  asm("mul.bf16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
  return product;
}

/// Of eight tokens and a thread's keys.
struct Frame {
  Bits begin, end, reference;

  __device__ __forceinline__ Frame(Bits begin_bound, Bits end_bound)
      : begin(begin_bound),
        end(end_bound),
        reference{(begin.x + end.x) >> 1, (begin.y + end.y) >> 1} {}

  /// What the sums of decays are measured from.
  __device__ __forceinline__ float2 origin() const {
    return {number(reference.x), number(reference.y)};
  }
  /// Factors of q from this frame to its begin, and from its end to this frame.
  __device__ __forceinline__ unsigned to_begin() const {
    return powers({reference.x - begin.x, reference.y - begin.y});
  }
  __device__ __forceinline__ unsigned from_end() const {
    return powers({end.x - reference.x, end.y - reference.y});
  }
  /// Bits that the lesser of the keys decays by.
  __device__ __forceinline__ int fade() const { return max(end.x - begin.x, end.y - begin.y); }
};

/// A chunk's table of both factors, of eight tokens and 64 keys: 32 words of each. A product's lane
/// has four neighbouring pairs' places of each eight pairs of keys, and finds its words side by
/// side.
__device__ __forceinline__ unsigned factors_at(const Stage& stage, int eight, int tile) {
  return stage.begin + layout.frames + (eight * layout.key_tiles + tile) * 256;
}
/// `pair`: of the block's keys.
__device__ __forceinline__ void store_factors(const Stage& stage, int eight, int pair,
                                              const Frame& frame) {
  const int in_tile = pair % 32;
  const unsigned at = factors_at(stage, eight, pair / 32) + in_tile % 4 * 32 + in_tile / 8 * 8 +
                      in_tile / 4 % 2 * 4;
  store_shared(at, frame.to_begin());
  store_shared(at + 128, frame.from_end());
}

/// What the least of a block's keys decays by over eight tokens.
__device__ __forceinline__ unsigned fade_at(const Block& block, int eight) {
  return block.scratch() + layout.fades + 4 * eight;
}

}  // namespace gla_bench::linear_recurrence::sm90
