#include "harness/verify/tolerance.hpp"

#include <algorithm>
#include <cmath>

namespace gla_bench {
namespace {

// For NaN (a plain computation that overflowed) the bound is the cap.
double clamp_to(double cap, double wanted) {
  return wanted <= cap ? wanted : cap;
}

double per_root(std::int64_t elements) {
  return 1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(elements, 1)));
}

// What the largest of n normal errors is expected to be, over their standard deviation.
double largest_of(std::int64_t n) {
  return std::max(1.0, std::sqrt(2 * std::log(static_cast<double>(std::max<std::int64_t>(n, 1)))));
}

}  // namespace

Arithmetic arithmetic_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return Arithmetic::float32;
    case DType::bfloat16:
      return Arithmetic::bfloat16;
    case DType::float16:
      return Arithmetic::float16;
    case DType::int32:
      break;
  }
  return Arithmetic::float32;
}

double unit_roundoff(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::float32:
      return 0x1p-24;
    case Arithmetic::tf32:
    case Arithmetic::float16:
      return 0x1p-11;
    case Arithmetic::bfloat16:
      return 0x1p-8;
  }
  return 0x1p-24;
}

double cap(const Tolerance& tolerance, Arithmetic arithmetic, DType output) {
  return std::max(tolerance.of(arithmetic).cap, tolerance.of(arithmetic_of(output)).cap);
}

Bounds bounds(const Tolerance& tolerance, Arithmetic arithmetic, DType output,
              const BaselineError& baseline) {
  const Arithmetic stored = arithmetic_of(output);
  const bool stored_is_coarser = unit_roundoff(stored) > unit_roundoff(arithmetic);
  const Arithmetic coarser = stored_is_coarser ? stored : arithmetic;
  const Tolerance::PerArithmetic& policy = tolerance.of(coarser);
  const double u = unit_roundoff(coarser);
  const double most = cap(tolerance, arithmetic, output);
  const auto floor = [&](std::int64_t elements) {
    return u * (policy.steady + policy.small * per_root(elements));
  };
  Bounds result;
  result.rel_l2 =
      clamp_to(most, std::max(policy.factor * baseline.rel_l2, floor(baseline.elements)));
  result.worst_chunk_rel_l2 = clamp_to(
      tolerance.worst_chunk * most,
      std::max(policy.chunk_factor * baseline.worst_chunk_rel_l2, floor(baseline.smallest_chunk)));
  result.max_abs = clamp_to(
      tolerance.max_abs * most,
      std::max(policy.max_factor * baseline.max_abs, floor(1) * largest_of(baseline.elements)));
  return result;
}

}  // namespace gla_bench
