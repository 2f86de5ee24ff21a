// Error metrics of one tensor (declared in verify.hpp).

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "harness/backends/poison.hpp"
#include "harness/verify/chunks.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

struct Partial {
  double error_squared = 0;
  double norm_squared = 0;
  std::int64_t elements = 0;
  std::int64_t unwritten = 0;
  std::int64_t not_finite = 0;
  std::int64_t first_bad = -1;
};

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

Partial compare_chunk(const Chunks& chunks, std::int64_t index, const float* got,
                      const double* expected) {
  Partial p;
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

// The largest error of an element over the largest of the RMS, its row's RMS and itself.
struct Worst {
  double error = -1;
  std::int64_t at = -1;
};

// error / norm, where 0 / 0 is no error.
double ratio(double error, double norm) {
  if (norm > 0) return error / norm;
  return error == 0 ? 0.0 : std::numeric_limits<double>::infinity();
}

WorstElement element(const TensorSpec& spec, std::int64_t at, std::span<const float> got,
                     std::span<const double> expected) {
  WorstElement worst;
  worst.got = got[at];
  worst.expected = expected[at];
  worst.index.resize(spec.extents.size());
  for (std::size_t axis = spec.extents.size(); axis-- > 0; at /= spec.extents[axis])
    worst.index[axis] = at % spec.extents[axis];
  return worst;
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

Worst worst_of_chunk(const Chunks& chunks, std::int64_t index, double rms, const float* got,
                     const double* expected) {
  Worst worst;
  for_rows(chunks, index, [&](std::int64_t start) {
    const double size = std::max(rms, row_rms(chunks, start, got, expected));
    if (size > 0 && sums_of_row(chunks, start, got, expected).plain() &&
        !(worst_of_row(chunks, start, size, got, expected) > worst.error))
      return;
    for_row(chunks, start, got, expected, [&](std::int64_t i, double value, double truth) {
      const double error = ratio(std::abs(value - truth), std::max(size, std::abs(truth)));
      if (error > worst.error) worst = {error, i};
    });
  });
  return worst;
}

Partial total(const std::vector<Partial>& partials) {
  Partial sum;
  for (const Partial& p : partials) {
    sum.error_squared += p.error_squared;
    sum.norm_squared += p.norm_squared;
    sum.elements += p.elements;
    sum.unwritten += p.unwritten;
    sum.not_finite += p.not_finite;
    if (p.first_bad >= 0 && (sum.first_bad < 0 || p.first_bad < sum.first_bad))
      sum.first_bad = p.first_bad;
  }
  return sum;
}

double rms_of(const Partial& sum) {
  return sum.elements == 0 ? 0.0 : std::sqrt(sum.norm_squared / static_cast<double>(sum.elements));
}

double error_of_chunk(const Partial& chunk, double rms, DType dtype) {
  const double elements = static_cast<double>(std::max<std::int64_t>(chunk.elements, 1));
  const double least = std::max(chunk_norm_floor(dtype), 1 / elements) * rms * std::sqrt(elements);
  return ratio(std::sqrt(chunk.error_squared), std::max(std::sqrt(chunk.norm_squared), least));
}

// Sums stay inside a chunk and chunks are added in order: the same for every number of threads.
std::vector<Partial> compare_chunks(const Chunks& chunks, std::span<const float> got,
                                    std::span<const double> expected) {
  std::vector<Partial> partials(static_cast<std::size_t>(chunks.count()));
  const auto count = static_cast<std::int64_t>(partials.size());
#pragma omp parallel for schedule(static) if (got.size() > 65536)
  for (std::int64_t i = 0; i < count; ++i)
    partials[i] = compare_chunk(chunks, i, got.data(), expected.data());
  return partials;
}

}  // namespace

Chunks chunks_of(const TensorSpec& spec) {
  const auto& extents = spec.extents;
  const auto product = [&](std::size_t from) {
    std::int64_t result = 1;
    for (std::size_t i = from; i < extents.size(); ++i) result *= extents[i];
    return result;
  };
  // One number per token and head says too little by itself: a chunk then spans the heads.
  if (spec.tokens && extents.size() == 3)
    return {extents[0], extents[1], 1, extents[2], chunk_tokens};
  if (spec.tokens && extents.size() > 3)
    return {extents[0],
            extents[1],
            extents[2],
            product(3),
            chunk_tokens,
            true,
            extents[1] < few_tokens ? extents[2] : 1};
  if (extents.size() >= 3) return {extents[0], 1, extents[1], product(2), 1};
  return {1, 1, 1, product(0), 1};
}

ChunkErrors chunk_errors(const TensorSpec& spec, std::span<const float> got,
                         std::span<const double> expected) {
  if (static_cast<std::int64_t>(got.size()) != spec.elements() || got.size() != expected.size())
    throw std::invalid_argument("'" + spec.name + "' does not have the size of its spec");
  if (got.empty()) return {{0, 0, 0}, {}};
  const Chunks chunks = chunks_of(spec);
  const std::vector<Partial> partials = compare_chunks(chunks, got, expected);
  const double rms = rms_of(total(partials));
  ChunkErrors errors{{chunks.outer, chunks.inner / chunks.heads, chunks.pieces()}, {}};
  for (const Partial& p : partials)
    errors.rel_l2.push_back(p.elements == 0 ? 0.0f : static_cast<float>(error_of_chunk(p, rms, spec.dtype)));
  return errors;
}

ErrorMetrics tensor_errors(const TensorSpec& spec, std::span<const float> got,
                           std::span<const double> expected) {
  if (static_cast<std::int64_t>(got.size()) != spec.elements() || got.size() != expected.size())
    throw std::invalid_argument("'" + spec.name + "' does not have the size of its spec");
  ErrorMetrics metrics;
  if (got.empty()) return metrics;
  const Chunks chunks = chunks_of(spec);
  const std::vector<Partial> partials = compare_chunks(chunks, got, expected);
  const auto count = static_cast<std::int64_t>(partials.size());
  const Partial sum = total(partials);
  if (sum.elements == 0) {  // each is the infinity or NaN that is expected
    metrics.worst = element(spec, 0, got, expected);
    return metrics;
  }
  const double rms = rms_of(sum);
  metrics.elements = sum.elements;
  metrics.unwritten = sum.unwritten;
  metrics.not_finite = sum.not_finite;
  metrics.smallest_chunk = sum.elements;
  for (const Partial& p : partials) {
    if (p.elements == 0) continue;
    metrics.smallest_chunk = std::min(metrics.smallest_chunk, p.elements);
    metrics.worst_chunk_rel_l2 = std::max(metrics.worst_chunk_rel_l2, error_of_chunk(p, rms, spec.dtype));
  }
  metrics.rel_l2 = ratio(std::sqrt(sum.error_squared), std::sqrt(sum.norm_squared));
  if (sum.first_bad >= 0) {
    metrics.rel_l2 = metrics.max_abs = metrics.worst_chunk_rel_l2 = undefined;
    metrics.worst = element(spec, sum.first_bad, got, expected);
    return metrics;
  }
  std::vector<Worst> worsts(partials.size());
#pragma omp parallel for schedule(static) if (spec.elements() > 65536)
  for (std::int64_t i = 0; i < count; ++i)
    worsts[i] = worst_of_chunk(chunks, i, rms, got.data(), expected.data());
  const auto worst =
      std::max_element(worsts.begin(), worsts.end(),
                       [](const Worst& a, const Worst& b) { return a.error < b.error; });
  metrics.max_abs = worst->error;
  metrics.worst = element(spec, worst->at, got, expected);
  return metrics;
}

}  // namespace gla_bench
