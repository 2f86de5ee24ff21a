#pragma once
// Frames of eight tokens each, for chunks of chunk_sm90 whose gates are strong.
//
// A group of eight tokens has two bounds: the sums of log2 decays where it begins and where it
// ends, both rounded to whole bits. Its reference r lies half way between them. In this frame q is
// scaled by 2^(b-r) and k by 2^(r-b). These factors are at most 2^97, since eight tokens decay by
// at most 192 bits and both bounds are rounded.
//
// All steps from one frame to another are powers of two with a whole number of bits. They are built
// from exponents alone and multiply two packed keys at once, so they are exact. A step from a
// reference to a bound is at least 2^-97, which is a normal number of bfloat16. At a bound, every
// later q and every earlier k has decayed to at most its own size. A value that falls below the
// normal numbers there contributes nothing that matters.

#include "linear_recurrence/sm90/block.cuh"

namespace gla_bench::linear_recurrence::sm90 {

/// Whole numbers of bits, for two keys.
struct Bits {
  int x, y;
};

/// Rounds to an integer by way of the mantissa of 1.5 2^23 + x.
__device__ __forceinline__ int rounded(float x) {
  return __float_as_int(x + 12582912.0f) - 0x4b400000;
}
__device__ __forceinline__ Bits rounded(float2 x) {
  return {rounded(x.x), rounded(x.y)};
}
/// The inverse of rounded().
__device__ __forceinline__ float number(int bits) {
  return __int_as_float(bits + 0x4b400000) - 12582912.0f;
}
/// 2^bits. Zero for bits below -126.
__device__ __forceinline__ float power(int bits) {
  return __int_as_float((max(bits, -127) + 127) << 23);
}
/// 2^bits for two keys in bfloat16. Bits must be at least -127, which gives zero.
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

/// The frame of eight tokens and two of a thread's keys.
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
  /// Factors that take q from this frame to its beginning, and from its end to this frame.
  __device__ __forceinline__ unsigned to_begin() const {
    return powers({reference.x - begin.x, reference.y - begin.y});
  }
  __device__ __forceinline__ unsigned from_end() const {
    return powers({end.x - reference.x, end.y - reference.y});
  }
  /// Log2 decay over the eight tokens of that one of the two keys which decays less.
  __device__ __forceinline__ int fade() const { return max(end.x - begin.x, end.y - begin.y); }
};

/// A chunk's table of both factors. For eight tokens and 64 keys it has 32 words of each factor. A
/// lane of a product needs four neighbouring words out of every eight pairs of keys. The table is
/// ordered so that it finds these words side by side.
__device__ __forceinline__ unsigned factors_at(const Stage& stage, int eight, int tile) {
  return stage.begin + layout.frames + (eight * layout.key_tiles + tile) * 256;
}
/// Stores both factors. `pair` counts pairs of the block's keys.
__device__ __forceinline__ void store_factors(const Stage& stage, int eight, int pair,
                                              const Frame& frame) {
  const int in_tile = pair % 32;
  const unsigned at = factors_at(stage, eight, pair / 32) + in_tile % 4 * 32 + in_tile / 8 * 8 +
                      in_tile / 4 % 2 * 4;
  store_shared(at, frame.to_begin());
  store_shared(at + 128, frame.from_end());
}

/// Shared address of the log2 decay over eight tokens of that key of the block which decays least.
__device__ __forceinline__ unsigned fade_at(const Block& block, int eight) {
  return block.scratch() + layout.fades + 4 * eight;
}

}  // namespace gla_bench::linear_recurrence::sm90
