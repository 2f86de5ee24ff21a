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

namespace {

// The first bound of tolerance.hpp, which knows only the sizes of the errors.
OutputErrors by_size(const Tolerance& tolerance, Arithmetic arithmetic, DType output,
                     const BaselineError& baseline) {
  const Arithmetic stored = arithmetic_of(output);
  const bool stored_is_coarser = unit_roundoff(stored) > unit_roundoff(arithmetic);
  const Arithmetic coarser = stored_is_coarser ? stored : arithmetic;
  const Tolerance::PerArithmetic& policy = tolerance.of(coarser);
  const double u = unit_roundoff(coarser);
  const double most = cap(tolerance, arithmetic, output);
  const double most_of_one = std::max(tolerance.max_abs * most, u * baseline.largest_of_sum);
  const auto floor = [&](std::int64_t elements) {
    return u * (policy.steady + policy.small * per_root(elements));
  };
  const OutputErrors& plain = baseline.stored;
  OutputErrors result;
  result.rel_l2 = clamp_to(most, std::max(policy.factor * plain.rel_l2, floor(baseline.elements)));
  result.worst_chunk_rel_l2 = clamp_to(
      tolerance.worst_chunk * most,
      std::max(policy.chunk_factor * plain.worst_chunk_rel_l2, floor(baseline.smallest_chunk)));
  result.max_abs = clamp_to(most_of_one, std::max(policy.max_factor * plain.max_abs,
                                                  floor(1) * largest_of(baseline.elements)));
  return result;
}

// What each measure may be before the output is rounded, where no factor is rounded.
OutputErrors computed_in_float32(const Tolerance& tolerance, const BaselineError& baseline) {
  const Tolerance::PerArithmetic& policy = tolerance.of(Arithmetic::float32);
  const double u = unit_roundoff(Arithmetic::float32);
  const auto floor = [&](std::int64_t elements) {
    return u * (policy.steady + policy.small * per_root(elements));
  };
  const OutputErrors& plain = baseline.computed;
  return {std::max(policy.factor * plain.rel_l2, floor(baseline.elements)),
          std::max(policy.chunk_factor * plain.worst_chunk_rel_l2, floor(baseline.smallest_chunk)),
          std::max(policy.max_factor * plain.max_abs, floor(1) * largest_of(baseline.elements))};
}

// The bound by one measure where errors of rounded factors and of the output's own rounding add up
// as independent ones. `size` is that of the tensor or of its smallest chunk.
struct RoundedFactors {
  const Tolerance& tolerance;
  Arithmetic arithmetic, stored;
  int factors;
  std::int64_t alike;

  double one(Arithmetic rounded, std::int64_t size) const {
    return unit_roundoff(rounded) * tolerance.one_rounding *
           (1 + tolerance.of(rounded).small * per_root(size));
  }
  double computed(double factor, double plain, std::int64_t size) const {
    return std::max(factor * plain,
                    std::sqrt(static_cast<double>(factors)) * one(arithmetic, size / alike));
  }
  double of_output(double rounding, std::int64_t size) const {
    if (stored == Arithmetic::float32) return rounding;
    return std::max(tolerance.slack * rounding, one(stored, size));
  }
};

}  // namespace

Bounds bounds(const Tolerance& tolerance, Arithmetic arithmetic, DType output, int rounded_factors,
              const BaselineError& baseline, std::int64_t alike) {
  const OutputErrors size = by_size(tolerance, arithmetic, output, baseline);
  // tf32 also rounds the float32 inputs of a product, on both sides.
  const int factors = rounded_factors + (arithmetic == Arithmetic::tf32 ? 2 : 0);
  const OutputErrors& rounding = baseline.rounding;
  Bounds result{size, size.rel_l2, rounding.rel_l2, false};
  if (arithmetic == Arithmetic::float32 || factors == 0) {
    const OutputErrors computed = computed_in_float32(tolerance, baseline);
    result.rel_l2 = clamp_to(size.rel_l2, rounding.rel_l2 + 2 * computed.rel_l2);
    result.worst_chunk_rel_l2 = clamp_to(
        size.worst_chunk_rel_l2, rounding.worst_chunk_rel_l2 + 2 * computed.worst_chunk_rel_l2);
    result.max_abs = clamp_to(size.max_abs, rounding.max_abs + 2 * computed.max_abs);
    result.computed = clamp_to(size.rel_l2, computed.rel_l2);
    result.as_float32 = true;
    result.common = {2 * result.computed, 2 * result.computed};
    return result;
  }
  const RoundedFactors rounded{tolerance, arithmetic, arithmetic_of(output), factors, alike};
  const Tolerance::PerArithmetic& policy = tolerance.of(arithmetic);
  const SignedMeans& signs = baseline.signs;
  result.common = {policy.factor * std::abs(signs.along), policy.factor * std::abs(signs.plain)};
  result.computed = clamp_to(
      size.rel_l2, rounded.computed(policy.factor, baseline.computed.rel_l2, baseline.elements));
  result.rounding = rounded.of_output(rounding.rel_l2, baseline.elements);
  if (factors > 1) return result;
  result.rel_l2 = clamp_to(size.rel_l2, std::hypot(result.computed, result.rounding));
  result.worst_chunk_rel_l2 = clamp_to(
      size.worst_chunk_rel_l2,
      std::hypot(rounded.computed(policy.chunk_factor, baseline.computed.worst_chunk_rel_l2,
                                  baseline.smallest_chunk),
                 rounded.of_output(rounding.worst_chunk_rel_l2, baseline.smallest_chunk)));
  return result;
}

Bounds bounds(const Tolerance& tolerance, Arithmetic arithmetic, const TensorSpec& output,
              const BaselineError& baseline) {
  Bounds result =
      bounds(tolerance, arithmetic, output.dtype, output.rounded_factors, baseline, output.alike);
  if (result.as_float32) return result;
  result.outwards = output.decayed_factors * unit_roundoff(arithmetic) / 4;
  const double terms_of_product = arithmetic == Arithmetic::tf32 ? 8 : 16;
  result.inwards = std::exp2(-24) * static_cast<double>(output.longest_sum) / terms_of_product +
                   (output.decays_alike ? result.outwards : 0);
  return result;
}

}  // namespace gla_bench
