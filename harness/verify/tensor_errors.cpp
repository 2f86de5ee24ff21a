// Error metrics of one tensor (declared in verify.hpp).

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/verify/chunks.hpp"
#include "harness/verify/host_comparison.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

WorstElement element(const TensorSpec& spec, std::int64_t at, OutputComparison& comparison,
                     std::span<const double> expected) {
  WorstElement worst;
  worst.got = comparison.output(at);
  worst.expected = expected[static_cast<std::size_t>(at)];
  worst.index.resize(spec.extents.size());
  for (std::size_t axis = spec.extents.size(); axis-- > 0; at /= spec.extents[axis])
    worst.index[axis] = at % spec.extents[axis];
  return worst;
}

ErrorSums total(const std::vector<ErrorSums>& partials) {
  ErrorSums sum;
  for (const ErrorSums& p : partials) {
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

double rms_of(const ErrorSums& sum) {
  return sum.elements == 0 ? 0.0 : std::sqrt(sum.norm_squared / static_cast<double>(sum.elements));
}

double error_of_chunk(const ErrorSums& chunk, double rms, const TensorSpec& spec) {
  const double elements = static_cast<double>(std::max<std::int64_t>(chunk.elements, 1));
  const double share = std::max(chunk_norm_floor(spec.dtype), 1 / elements);
  const double least = std::max(share * rms, spec.size_of_sums()) * std::sqrt(elements);
  return error_ratio(std::sqrt(chunk.error_squared),
                     std::max(std::sqrt(chunk.norm_squared), least));
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
  HostComparison comparison(spec, got, expected);
  if (got.empty()) return {{0, 0, 0}, {}};
  const Chunks chunks = chunks_of(spec);
  const std::vector<ErrorSums> sums = comparison.error_sums();
  const double rms = rms_of(total(sums));
  ChunkErrors errors{{chunks.outer, chunks.inner / chunks.heads, chunks.pieces()}, {}};
  for (const ErrorSums& p : sums)
    errors.rel_l2.push_back(p.elements == 0 ? 0.0f
                                            : static_cast<float>(error_of_chunk(p, rms, spec)));
  return errors;
}

ErrorMetrics tensor_errors(const TensorSpec& spec, std::span<const float> got,
                           std::span<const double> expected) {
  HostComparison comparison(spec, got, expected);
  return tensor_errors(spec, comparison, expected);
}

ErrorMetrics tensor_errors(const TensorSpec& spec, OutputComparison& comparison,
                           std::span<const double> expected) {
  ErrorMetrics metrics;
  if (expected.empty()) return metrics;
  const std::vector<ErrorSums> sums = comparison.error_sums();
  const ErrorSums sum = total(sums);
  if (sum.elements == 0) {  // each is the infinity or NaN that is expected
    metrics.worst = element(spec, 0, comparison, expected);
    return metrics;
  }
  const double rms = rms_of(sum);
  metrics.elements = sum.elements;
  metrics.unwritten = sum.unwritten;
  metrics.not_finite = sum.not_finite;
  metrics.smallest_chunk = sum.elements;
  for (const ErrorSums& p : sums) {
    if (p.elements == 0) continue;
    metrics.smallest_chunk = std::min(metrics.smallest_chunk, p.elements);
    metrics.worst_chunk_rel_l2 = std::max(metrics.worst_chunk_rel_l2, error_of_chunk(p, rms, spec));
  }
  const double added = spec.size_of_sums() * std::sqrt(static_cast<double>(sum.elements));
  metrics.rel_l2 =
      error_ratio(std::sqrt(sum.error_squared), std::max(std::sqrt(sum.norm_squared), added));
  if (sum.first_bad >= 0) {
    metrics.rel_l2 = metrics.max_abs = metrics.worst_chunk_rel_l2 = undefined;
    metrics.worst = element(spec, sum.first_bad, comparison, expected);
    return metrics;
  }
  const std::vector<WorstOfChunk> worsts = comparison.worsts(std::max(rms, spec.size_of_sums()));
  const auto worst = std::max_element(
      worsts.begin(), worsts.end(),
      [](const WorstOfChunk& a, const WorstOfChunk& b) { return a.error < b.error; });
  metrics.max_abs = worst->error;
  metrics.worst = element(spec, worst->at, comparison, expected);
  return metrics;
}

}  // namespace gla_bench
