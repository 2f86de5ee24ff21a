#pragma once
// Rounding to the short formats, and their bit patterns. The functions are inline so that loops
// over them vectorise. All rounding is to nearest, and ties go to even where nothing else is said.
// The results are the same on every machine.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/problem.hpp"

namespace gla_bench {

/// Rounds a double to `mantissa` explicit bits. Exponents start at `min_exponent`; below it the
/// spacing stays fixed (subnormals). A result beyond `largest` is infinite. NaN stays NaN.
inline double round_binary(double value, int mantissa, int min_exponent, double largest) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int stored = static_cast<int>((bits >> 52) & 0x7ff);
  if (stored == 0x7ff) return value;
  const int exponent = stored - 1023 < min_exponent ? min_exponent : stored - 1023;
  // 1.5 * 2^(exponent - mantissa + 52): adding it leaves no bits below the wanted ulp.
  const std::uint64_t magic_bits =
      (static_cast<std::uint64_t>(exponent - mantissa + 52 + 1023) << 52) | (1ull << 51);
  const double magic = std::bit_cast<double>(magic_bits);
  const double rounded = (value + magic) - magic;
  if (std::abs(rounded) > largest)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return std::copysign(rounded, value);
}

inline float round_to_bfloat16(double value) {
  return static_cast<float>(round_binary(value, 7, -126, 0x1.fep127));
}

inline float round_to_float16(double value) {
  return static_cast<float>(round_binary(value, 10, -14, 65504.0));
}

/// Rounds a float32 to `kept` explicit mantissa bits and keeps the exponent range of float32. 10
/// bits are what tensor cores keep of tf32, and 7 give bfloat16. Finite values only (the result may
/// become infinite).
template <int kept>
inline float round_mantissa(float value) {
  static_assert(kept > 0 && kept < 23);
  constexpr std::uint32_t dropped = 23 - kept;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half = (1u << (dropped - 1)) - 1u + ((bits >> dropped) & 1u);
  return std::bit_cast<float>((bits + half) & ~((1u << dropped) - 1u));
}

/// The same with ties away from zero, as the conversion instruction for tf32 (cvt.rna) rounds.
template <int kept>
inline float round_mantissa_away(float value) {
  static_assert(kept > 0 && kept < 23);
  constexpr std::uint32_t dropped = 23 - kept;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  return std::bit_cast<float>((bits + (1u << (dropped - 1))) & ~((1u << dropped) - 1u));
}

/// The explicit mantissa bits that an arithmetic keeps of a product's operands. The range stays
/// that of float32.
constexpr int kept_mantissa(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::float32:
      return 23;
    case Arithmetic::tf32:
    case Arithmetic::float16:
      return 10;
    case Arithmetic::bfloat16:
      return 7;
  }
  return 23;
}

/// Calls `use` with the function that rounds an operand to what an arithmetic keeps, and returns
/// its result. Ties go to even for bfloat16 and away from zero for tf32, as GPUs convert; float16
/// products go through tf32 where a factor may exceed float16's range, and are rounded like them.
/// Each arithmetic has its own function type, so that loops are compiled for each of them.
template <class Use>
auto with_operand_rounding(Arithmetic arithmetic, Use use) {
  switch (arithmetic) {
    case Arithmetic::float32:
      break;
    case Arithmetic::tf32:
    case Arithmetic::float16:
      return use([](float x) { return round_mantissa_away<kept_mantissa(Arithmetic::tf32)>(x); });
    case Arithmetic::bfloat16:
      return use([](float x) { return round_mantissa<kept_mantissa(Arithmetic::bfloat16)>(x); });
  }
  return use([](float x) { return x; });
}

/// The float that a bfloat16 bit pattern represents.
inline float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// The bit pattern of the nearest bfloat16. A NaN stays a NaN.
inline std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;  // rounding could carry a NaN to infinity
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return static_cast<std::uint16_t>(is_nan ? quiet : rounded);
}

/// The float that a float16 bit pattern represents. A NaN keeps its payload.
inline float float16_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t rest = bits & 0x7fffu;
  // Scaling by 2^112 moves the exponent's bias from 15 to 127 and is exact, subnormals included.
  const auto finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112f);
  const std::uint32_t magnitude = rest >= 0x7c00u ? (rest << 13) | 0x7f800000u : finite;
  return std::bit_cast<float>(sign | magnitude);
}

/// The bit pattern of the nearest float16. Values beyond 65504 become infinity. A NaN stays a NaN.
inline std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t rest = bits & 0x7fffffffu;
  // Normal numbers: the exponent's bias goes from 127 to 15 and 13 bits are rounded away. A carry
  // into the exponent gives the right result. Below 2^-14: adding 0.5 leaves multiples of 2^-24 in
  // the low bits.
  const std::uint32_t normal = (rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u)) >> 13;
  const std::uint32_t tiny =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
  std::uint32_t result = rest < 0x38800000u ? tiny : normal;
  result = rest >= 0x477ff000u ? 0x7c00u : result;  // 65520 and more
  result = rest > 0x7f800000u ? 0x7e00u : result;
  return static_cast<std::uint16_t>(sign | result);
}

}  // namespace gla_bench
