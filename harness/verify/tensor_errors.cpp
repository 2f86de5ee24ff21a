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

// The errors of a tensor's chunks, each against its own norm or the least that it counts as.
class ChunkRatios {
 public:
  ChunkRatios(const TensorSpec& spec, const std::vector<ErrorSums>& sums)
      : spec_(spec), chunks_(chunks_of(spec)), sums_(sums), rms_(rms_of(total(sums))) {
    if (!spec.running_sum) return;
    const auto pieces = static_cast<std::size_t>(chunks_.pieces());
    for (std::size_t first = 0; first < sums.size(); first += pieces)
      rms_of_sequences_.push_back(
          rms_of(total({sums.begin() + static_cast<std::ptrdiff_t>(first),
                        sums.begin() + static_cast<std::ptrdiff_t>(first + pieces)})));
  }

  double rms() const { return rms_; }

  double of(std::size_t index) const {
    const ErrorSums& chunk = sums_[index];
    const double elements = static_cast<double>(std::max<std::int64_t>(chunk.elements, 1));
    double least = std::max(least_share(index, elements) * rms_, spec_.size_of_sums());
    if (spec_.running_sum)
      least =
          std::max(least, rms_of_sequences_[index / static_cast<std::size_t>(chunks_.pieces())]);
    return error_ratio(std::sqrt(chunk.error_squared),
                       std::max(std::sqrt(chunk.norm_squared), least * std::sqrt(elements)));
  }

 private:
  // The smallest share of the tensor's RMS that a chunk counts as (verify.hpp).
  double least_share(std::size_t index, double elements) const {
    const double share = std::max(chunk_norm_floor(spec_.dtype), 1 / elements);
    if (!spec_.tokens || spec_.extents.size() <= 3) return share;
    const auto piece = static_cast<std::int64_t>(index) % chunks_.pieces();
    const std::int64_t rows = (chunks_.end(piece) - piece * chunks_.length) * chunks_.heads;
    return rows < few_rows ? std::max(share, 1 / static_cast<double>(rows)) : share;
  }

  const TensorSpec& spec_;
  Chunks chunks_;
  const std::vector<ErrorSums>& sums_;
  double rms_;
  std::vector<double> rms_of_sequences_;
};

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
  const ChunkRatios ratios(spec, sums);
  ChunkErrors errors{{chunks.outer, chunks.inner / chunks.heads, chunks.pieces()}, {}};
  for (std::size_t i = 0; i < sums.size(); ++i)
    errors.rel_l2.push_back(sums[i].elements == 0 ? 0.0f : static_cast<float>(ratios.of(i)));
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
  const ChunkRatios ratios(spec, sums);
  metrics.elements = sum.elements;
  metrics.rms = ratios.rms();
  metrics.unwritten = sum.unwritten;
  metrics.not_finite = sum.not_finite;
  metrics.smallest_chunk = sum.elements;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].elements == 0) continue;
    metrics.smallest_chunk = std::min(metrics.smallest_chunk, sums[i].elements);
    metrics.worst_chunk_rel_l2 = std::max(metrics.worst_chunk_rel_l2, ratios.of(i));
  }
  const double added = spec.size_of_sums() * std::sqrt(static_cast<double>(sum.elements));
  metrics.rel_l2 =
      error_ratio(std::sqrt(sum.error_squared), std::max(std::sqrt(sum.norm_squared), added));
  if (sum.first_bad >= 0) {
    metrics.rel_l2 = metrics.max_abs = metrics.worst_chunk_rel_l2 = undefined;
    metrics.worst = element(spec, sum.first_bad, comparison, expected);
    return metrics;
  }
  const std::vector<WorstOfChunk> worsts =
      comparison.worsts(std::max(ratios.rms(), spec.size_of_sums()));
  const auto worst = std::max_element(
      worsts.begin(), worsts.end(),
      [](const WorstOfChunk& a, const WorstOfChunk& b) { return a.error < b.error; });
  metrics.max_abs = worst->error;
  metrics.worst = element(spec, worst->at, comparison, expected);
  return metrics;
}

}  // namespace gla_bench
