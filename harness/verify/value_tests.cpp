#include "harness/verify/value_tests.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "core/rounding.hpp"
#include "harness/verify/chunks.hpp"

namespace gla_bench {
namespace {

// Sums over the finite elements of a chunk, or of all chunks.
struct Sums {
  double along = 0;      // error times value
  double plain = 0;      // error against the exact result, rounded to nearest
  double squares = 0;    // value^2
  double fourths = 0;    // value^4
  double absolutes = 0;  // |value|

  void add(const Sums& other) {
    along += other.along;
    plain += other.plain;
    squares += other.squares;
    fourths += other.fourths;
    absolutes += other.absolutes;
  }
};

Sums sums_of_chunk(const Chunks& chunks, std::int64_t index, DType dtype, const float* got,
                   const double* expected) {
  Sums sums;
  for_rows(chunks, index, [&](std::int64_t start) {
    for (std::int64_t i = start; i < start + chunks.row; ++i) {
      const double value = expected[i], nearest = round_to(dtype, value);
      const double error = got[i] - nearest;
      if (!std::isfinite(value) || !std::isfinite(error)) continue;
      const double square = value * value;
      sums.along += error * value;
      sums.plain += error;
      sums.squares += square;
      sums.fourths += square * square;
      sums.absolutes += std::abs(value);
    }
  });
  return sums;
}

// The independent errors of rounded factors in a chunk of tokens, at least. A state without token
// axes is one chunk: its last axis is the values, the one before it the keys.
double independent_in_chunk(const TensorSpec& spec) {
  const Chunks chunks = chunks_of(spec);
  std::int64_t across = chunks.row, along = std::min(chunks.tokens, chunks.length);
  if (!spec.tokens && spec.extents.size() >= 2) {
    across = spec.extents.back();
    along = spec.extents[spec.extents.size() - 2];
  }
  return static_cast<double>(std::max<std::int64_t>(1, std::min(across, along)));
}

void check_sizes(const TensorSpec& spec, std::size_t got, std::size_t expected) {
  if (static_cast<std::int64_t>(got) != spec.elements() || got != expected)
    throw std::invalid_argument("'" + spec.name + "' does not have the size of its spec");
}

// Sums over a whole tensor.
struct AllSums {
  Sums all;
  double squares_squared = 0, absolutes_squared = 0;  // sums of squares of each chunk's sums

  SignedMeans means() const {
    if (!(all.squares > 0)) return {};
    return {all.along / all.squares, all.plain / all.absolutes};
  }
};

AllSums all_sums(const TensorSpec& spec, DType stored, std::span<const float> got,
                 std::span<const double> expected) {
  check_sizes(spec, got.size(), expected.size());
  AllSums sums;
  if (got.empty()) return sums;
  const Chunks chunks = chunks_of(spec);
  std::vector<Sums> parts(static_cast<std::size_t>(chunks.count()));
  const auto count = static_cast<std::int64_t>(parts.size());
#pragma omp parallel for schedule(static) if (spec.elements() > 65536)
  for (std::int64_t i = 0; i < count; ++i)
    parts[i] = sums_of_chunk(chunks, i, stored, got.data(), expected.data());
  for (const Sums& part : parts) {
    sums.all.add(part);
    sums.squares_squared += part.squares * part.squares;
    sums.absolutes_squared += part.absolutes * part.absolutes;
  }
  return sums;
}

// Whether a float32 has no bits below the first `bits` of its significand.
bool fits(float value, int bits) {
  const std::uint32_t below = (1u << (24 - bits)) - 1;
  return (std::bit_cast<std::uint32_t>(value) & below) == 0;
}

}  // namespace

SignedMeans signed_means(const TensorSpec& spec, DType stored, std::span<const float> got,
                         std::span<const double> expected) {
  return all_sums(spec, stored, got, expected).means();
}

SignedMean signed_mean(const TensorSpec& spec, std::span<const float> got,
                       std::span<const double> expected, const Bounds& bounds, double sigmas) {
  const AllSums sums = all_sums(spec, spec.dtype, got, expected);
  if (!(sums.all.squares > 0)) return {};
  const double factors =
      bounds.as_float32 ? 0 : bounds.computed / std::sqrt(independent_in_chunk(spec));
  // Both the candidate's output and the exact result were rounded.
  const double rounding = std::sqrt(2.0) * bounds.rounding;
  // Standard deviations where every element, or every chunk, errs by its share of the norm.
  const Sums& all = sums.all;
  const double along_of_elements = std::sqrt(all.fourths) / all.squares;
  const double along_of_chunks = std::sqrt(sums.squares_squared) / all.squares;
  const double plain_of_elements = std::sqrt(all.squares) / all.absolutes;
  const double plain_of_chunks = std::sqrt(sums.absolutes_squared) / all.absolutes;
  const SignedMeans means = sums.means();
  const SignedMean along{means.along,
                         bounds.common.along + sigmas * std::hypot(rounding * along_of_elements,
                                                                   factors * along_of_chunks)};
  const SignedMean plain{means.plain,
                         bounds.common.plain + sigmas * std::hypot(rounding * plain_of_elements,
                                                                   factors * plain_of_chunks)};
  const bool plain_is_worse =
      std::abs(plain.value) * along.bound > std::abs(along.value) * plain.bound;
  return plain_is_worse ? plain : along;
}

CoarseShares coarse_shares(std::span<const float> values) {
  std::int64_t all = 0, bfloat16 = 0, float16 = 0;
  for (const float value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    ++all;
    bfloat16 += fits(value, 8) ? 1 : 0;
    float16 += fits(value, 11) ? 1 : 0;
  }
  const auto count = static_cast<double>(std::max<std::int64_t>(all, 1));
  return {static_cast<double>(bfloat16) / count, static_cast<double>(float16) / count};
}

std::optional<int> kept_bits(const TensorSpec& spec, std::span<const float> got,
                             std::span<const double> expected, const CoarseShares& plain) {
  check_sizes(spec, got.size(), expected.size());
  if (spec.dtype != DType::float32 || got.size() < 32) return std::nullopt;
  const CoarseShares found = coarse_shares(got);
  if (found.float16 <= 0.5) return std::nullopt;  // 8 bits fit 11 as well
  std::vector<float> exact(expected.size());
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = static_cast<float>(expected[i]);
  const CoarseShares known = coarse_shares(exact);
  const auto unlike = [](double share, double first, double second) {
    return share > 0.5 && std::max(first, second) < 0.25;
  };
  if (unlike(found.bfloat16, known.bfloat16, plain.bfloat16)) return 8;
  if (unlike(found.float16, known.float16, plain.float16)) return 11;
  return std::nullopt;
}

}  // namespace gla_bench
