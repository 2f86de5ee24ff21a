#pragma once
// Rounds operands as an arithmetic requires, on the GPU. The prologue defines rounding::mantissa
// (the explicit bits that an operand keeps).

namespace reference {

__device__ double rounded(double x) { return x; }

// Rounds to nearest with the range of float32. Ties go to even for bfloat16 and away from zero for
// ten bits (tf32, float16), as core/rounding.hpp's with_operand_rounding() has it.
__device__ float rounded(float x) {
  constexpr unsigned drop = rounding::mantissa < 23 ? 23 - rounding::mantissa : 1;
  if (rounding::mantissa >= 23 || !isfinite(x)) return x;
  const unsigned bits = __float_as_uint(x);
  const unsigned tie = rounding::mantissa == 10 ? 1u : (bits >> drop) & 1u;
  return __uint_as_float((bits + (1u << (drop - 1)) - 1u + tie) & ~((1u << drop) - 1u));
}

}  // namespace reference
