#include "harness/verify/value_tests.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/verify/chunks.hpp"
#include "harness/verify/host_comparison.hpp"

namespace gla_bench {
namespace {

// The independent errors of rounded factors in a chunk of tokens, at least. A state without token
// axes is one chunk: its last axis is the values, the one before it the keys.
double independent_in_chunk(const TensorSpec& spec) {
  const Chunks chunks = chunks_of(spec);
  if (spec.running_sum) return static_cast<double>(std::max<std::int64_t>(1, chunks.row));
  std::int64_t across = chunks.row, along = std::min(chunks.tokens, chunks.length);
  if (!spec.tokens && spec.extents.size() >= 2) {
    across = spec.extents.back();
    along = spec.extents[spec.extents.size() - 2];
  }
  return static_cast<double>(std::max<std::int64_t>(1, std::min(across, along)));
}

// Sums over a whole tensor.
struct AllSums {
  ValueSums all;
  double squares_squared = 0, absolutes_squared = 0;  // sums of squares of each draw's sums

  SignedMeans means() const {
    if (!(all.squares > 0)) return {};
    return {all.along / all.squares, all.plain / all.absolutes};
  }
};

// The sizes that errors count against are those of what elements are added up from, at least.
AllSums all_sums(const TensorSpec& spec, OutputComparison& comparison) {
  AllSums sums;
  const std::vector<ValueSums> chunks = comparison.value_sums();
  // The chunks whose errors are one draw: those of a batch and a head, one behind the other.
  const auto together =
      static_cast<std::size_t>(spec.running_sum ? chunks_of(spec).pieces() : std::int64_t{1});
  for (std::size_t first = 0; first < chunks.size(); first += together) {
    ValueSums part;
    for (std::size_t i = first; i < first + together; ++i) part.add(chunks[i]);
    sums.all.add(part);
    sums.squares_squared += part.squares * part.squares;
    sums.absolutes_squared += part.absolutes * part.absolutes;
  }
  if (!(sums.all.squares > 0)) return sums;
  const auto elements = static_cast<double>(spec.elements());
  const double size = spec.size_of_sums();
  sums.all.squares = std::max(sums.all.squares, elements * size * size);
  sums.all.absolutes = std::max(sums.all.absolutes, elements * size);
  return sums;
}

CoarseShares shares_of(const CoarseCounts& counts) {
  const auto count = static_cast<double>(std::max<std::int64_t>(counts.all, 1));
  return {static_cast<double>(counts.bfloat16) / count,
          static_cast<double>(counts.float16) / count};
}

}  // namespace

SignedMeans signed_means(const TensorSpec& spec, DType stored, std::span<const float> got,
                         std::span<const double> expected) {
  HostComparison comparison(spec, stored, got, expected);
  return got.empty() ? SignedMeans{} : all_sums(spec, comparison).means();
}

SignedMean signed_mean(const TensorSpec& spec, std::span<const float> got,
                       std::span<const double> expected, const Bounds& bounds, double sigmas) {
  HostComparison comparison(spec, got, expected);
  return got.empty() ? SignedMean{} : signed_mean(spec, comparison, bounds, sigmas);
}

SignedMean signed_mean(const TensorSpec& spec, OutputComparison& comparison, const Bounds& bounds,
                       double sigmas) {
  const AllSums sums = all_sums(spec, comparison);
  if (!(sums.all.squares > 0)) return {};
  const double factors =
      bounds.as_float32 ? 0 : bounds.computed / std::sqrt(independent_in_chunk(spec));
  // Both the candidate's output and the exact result were rounded.
  const double rounding = std::sqrt(2.0) * bounds.rounding;
  // Standard deviations where every element, or every chunk, errs by its share of the norm.
  const ValueSums& all = sums.all;
  const double along_of_elements = std::sqrt(all.fourths) / all.squares;
  const double along_of_chunks = std::sqrt(sums.squares_squared) / all.squares;
  const double plain_of_elements = std::sqrt(all.squares) / all.absolutes;
  const double plain_of_chunks = std::sqrt(sums.absolutes_squared) / all.absolutes;
  const SignedMeans means = sums.means();
  const double one_sided = means.along > 0 ? bounds.outwards : bounds.inwards;
  const SignedMean along{means.along, bounds.common.along + one_sided +
                                          sigmas * std::hypot(rounding * along_of_elements,
                                                              factors * along_of_chunks)};
  const SignedMean plain{means.plain,
                         bounds.common.plain + sigmas * std::hypot(rounding * plain_of_elements,
                                                                   factors * plain_of_chunks)};
  const bool plain_is_worse =
      std::abs(plain.value) * along.bound > std::abs(along.value) * plain.bound;
  return plain_is_worse ? plain : along;
}

CoarseShares coarse_shares(std::span<const float> values) {
  return shares_of(coarse_counts(values));
}

std::optional<int> kept_bits(const TensorSpec& spec, std::span<const float> got,
                             std::span<const double> expected, const CoarseShares& plain) {
  HostComparison comparison(spec, got, expected);
  return kept_bits(spec, comparison, plain);
}

std::optional<int> kept_bits(const TensorSpec& spec, OutputComparison& comparison,
                             const CoarseShares& plain) {
  if (spec.dtype != DType::float32 || spec.elements() < 32) return std::nullopt;
  const CoarseShares found = shares_of(comparison.coarse_output());
  if (found.float16 <= 0.5) return std::nullopt;  // 8 bits fit 11 as well
  const CoarseShares known = shares_of(comparison.coarse_expected());
  const auto unlike = [](double share, double first, double second) {
    const double explained = std::max(first, second);
    return explained < 0.25 && share - explained > 0.5;
  };
  if (unlike(found.bfloat16, known.bfloat16, plain.bfloat16)) return 8;
  if (unlike(found.float16, known.float16, plain.float16)) return 11;
  return std::nullopt;
}

}  // namespace gla_bench
