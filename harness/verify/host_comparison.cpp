#include "harness/verify/host_comparison.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "core/rounding.hpp"
#include "harness/backends/poison.hpp"
#include "harness/verify/allowances.hpp"
#include "harness/verify/chunks.hpp"

namespace gla_bench {
namespace {

constexpr std::size_t few_elements = 65536;  // are not worth more than one thread

// Whether an element is the infinity or the NaN that is expected. It is right, and takes part in no
// norm. A NaN of the poison was not written.
bool is_expected_extreme(float got, double truth) {
  if (std::isinf(truth)) return static_cast<double>(got) == truth;
  return std::isnan(truth) && std::isnan(got) && !is_poison(got);
}

// Calls act(element, value, truth) for the elements of a row that take part in norms.
template <class Act>
void for_row(const Chunks& chunks, std::int64_t start, const float* got, const double* expected,
             Act act) {
  for (std::int64_t i = start; i < start + chunks.row; ++i) {
    if (!is_expected_extreme(got[i], expected[i])) act(i, double{got[i]}, expected[i]);
  }
}

// Sums over a row in which every element takes part in norms and is finite.
struct RowSums {
  double error_squared = 0, norm_squared = 0;
  // False where the row is not plain: it has an infinity, a NaN, or a square that is too large.
  bool plain() const { return std::isfinite(error_squared + norm_squared); }
};

// Has no branch, so that the compiler can vectorise it. Nearly all rows are plain.
RowSums sums_of_row(const Chunks& chunks, std::int64_t start, const float* got,
                    const double* expected) {
  double error_squared = 0, norm_squared = 0;
#pragma omp simd reduction(+ : error_squared, norm_squared)
  for (std::int64_t i = start; i < start + chunks.row; ++i) {
    const double truth = expected[i], error = std::abs(static_cast<double>(got[i]) - truth);
    error_squared += error * error;
    norm_squared += truth * truth;
  }
  return {error_squared, norm_squared};
}

// The largest error of an element of a plain row over the larger of itself and `size`, which is not
// 0.
double worst_of_row(const Chunks& chunks, std::int64_t start, double size, const float* got,
                    const double* expected) {
  double worst = 0;
#pragma omp simd reduction(max : worst)
  for (std::int64_t i = start; i < start + chunks.row; ++i) {
    const double truth = expected[i];
    const double relative =
        std::abs(static_cast<double>(got[i]) - truth) / std::max(size, std::abs(truth));
    worst = std::max(worst, relative);
  }
  return worst;
}

ErrorSums compare_chunk(const Chunks& chunks, std::int64_t index, const float* got,
                        const double* expected) {
  ErrorSums p;
  const auto add = [&](std::int64_t i, double value, double truth) {
    ++p.elements;
    const double error = std::abs(value - truth);
    p.error_squared += error * error;
    p.norm_squared += truth * truth;
    if (std::isfinite(error)) return;
    if (p.first_bad < 0) p.first_bad = i;
    ++(is_poison(got[i]) ? p.unwritten : p.not_finite);
  };
  for_rows(chunks, index, [&](std::int64_t start) {
    const RowSums sums = sums_of_row(chunks, start, got, expected);
    if (!sums.plain()) return for_row(chunks, start, got, expected, add);
    p.elements += chunks.row;
    p.error_squared += sums.error_squared;
    p.norm_squared += sums.norm_squared;
  });
  return p;
}

// RMS of a row that has a size of its own; 0 for others.
double row_rms(const Chunks& chunks, std::int64_t start, const float* got, const double* expected) {
  if (!chunks.rows) return 0;
  const RowSums sums = sums_of_row(chunks, start, got, expected);
  if (sums.plain()) return std::sqrt(sums.norm_squared / static_cast<double>(chunks.row));
  double sum = 0;
  std::int64_t count = 0;
  for_row(chunks, start, got, expected, [&](std::int64_t, double, double truth) {
    sum += truth * truth;
    ++count;
  });
  return count > 0 ? std::sqrt(sum / static_cast<double>(count)) : 0.0;
}

WorstOfChunk worst_of_chunk(const Chunks& chunks, std::int64_t index, double rms, const float* got,
                            const double* expected) {
  WorstOfChunk worst;
  for_rows(chunks, index, [&](std::int64_t start) {
    const double size = std::max(rms, row_rms(chunks, start, got, expected));
    if (size > 0 && sums_of_row(chunks, start, got, expected).plain() &&
        !(worst_of_row(chunks, start, size, got, expected) > worst.error))
      return;
    for_row(chunks, start, got, expected, [&](std::int64_t i, double value, double truth) {
      const double error = error_ratio(std::abs(value - truth), std::max(size, std::abs(truth)));
      if (error > worst.error) worst = {error, i};
    });
  });
  return worst;
}

ValueSums sums_of_chunk(const Chunks& chunks, std::int64_t index, DType dtype, const float* got,
                        const double* expected) {
  ValueSums sums;
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

// Whether a float32 has no bits below the first `bits` of its significand.
bool fits(float value, int bits) {
  const std::uint32_t below = (1u << (24 - bits)) - 1;
  return (std::bit_cast<std::uint32_t>(value) & below) == 0;
}

template <class Values>
CoarseCounts counts_of(const Values& values) {
  std::int64_t all = 0, bfloat16 = 0, float16 = 0;
  const auto count = static_cast<std::int64_t>(values.size());
#pragma omp parallel for schedule(static) reduction(+ : all, bfloat16, float16) \
    if (values.size() > few_elements)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(values[static_cast<std::size_t>(i)]);
    if (!std::isfinite(value) || value == 0) continue;
    ++all;
    bfloat16 += fits(value, 8) ? 1 : 0;
    float16 += fits(value, 11) ? 1 : 0;
  }
  return {all, bfloat16, float16};
}

// What `of_chunk` says of each chunk. Nothing crosses a chunk: the results are the same for every
// number of threads.
template <class OfChunk>
auto for_chunks(const Chunks& chunks, std::size_t elements, OfChunk of_chunk) {
  std::vector<decltype(of_chunk(std::int64_t{}))> list(static_cast<std::size_t>(chunks.count()));
  const auto count = static_cast<std::int64_t>(list.size());
#pragma omp parallel for schedule(static) if (elements > few_elements)
  for (std::int64_t i = 0; i < count; ++i) list[static_cast<std::size_t>(i)] = of_chunk(i);
  return list;
}

}  // namespace

CoarseCounts coarse_counts(std::span<const float> values) {
  return counts_of(values);
}

HostComparison::HostComparison(const TensorSpec& spec, DType stored, std::span<const float> got,
                               std::span<const double> expected)
    : chunks_(chunks_of(spec)), stored_(stored), raw_(got), got_(got), expected_(expected) {
  if (static_cast<std::int64_t>(got.size()) != spec.elements() || got.size() != expected.size())
    throw std::invalid_argument("'" + spec.name + "' does not have the size of its spec");
}

HostComparison::HostComparison(const TensorSpec& spec, std::span<const float> got,
                               std::span<const double> expected, std::span<const float> allowances)
    : HostComparison(spec, got, expected) {
  if (allowances.empty()) return;
  adjusted_ = without_roundings(got, expected, allowances);
  got_ = adjusted_;
}

std::vector<ErrorSums> HostComparison::error_sums() {
  return for_chunks(chunks_, got_.size(), [this](std::int64_t i) {
    return compare_chunk(chunks_, i, got_.data(), expected_.data());
  });
}

std::vector<ValueSums> HostComparison::value_sums() {
  return for_chunks(chunks_, got_.size(), [this](std::int64_t i) {
    return sums_of_chunk(chunks_, i, stored_, got_.data(), expected_.data());
  });
}

std::vector<WorstOfChunk> HostComparison::worsts(double rms) {
  return for_chunks(chunks_, got_.size(), [this, rms](std::int64_t i) {
    return worst_of_chunk(chunks_, i, rms, got_.data(), expected_.data());
  });
}

CoarseCounts HostComparison::coarse_output() {
  if (adjusted_.empty()) return coarse_counts(raw_);
  // What is left of terms that cancelled is a small multiple of their last place, whatever was
  // kept. Zeros are not counted.
  std::vector<float> values(raw_.begin(), raw_.end());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (adjusted_[i] != raw_[i] && adjusted_[i] == static_cast<float>(expected_[i])) values[i] = 0;
  return coarse_counts(values);
}

CoarseCounts HostComparison::coarse_expected() {
  return counts_of(expected_);
}

}  // namespace gla_bench
