#include "harness/judge/accuracy/accuracy.hpp"

#include <algorithm>
#include <functional>
#include <sstream>

namespace gla_bench {
namespace {

struct Metric {
  const char* name;
  double TensorVerdict::*error;
  double TensorVerdict::*bound;
};

constexpr Metric metrics[] = {
    {"rel_l2", &TensorVerdict::rel_l2, &TensorVerdict::bound},
    {"worst_chunk_rel_l2", &TensorVerdict::worst_chunk_rel_l2, &TensorVerdict::worst_chunk_bound},
    {"max_abs", &TensorVerdict::max_abs, &TensorVerdict::max_abs_bound}};

void each_error(const Record& record,
                const std::function<void(const AccuracyKey&, double error, double bound)>& take) {
  if (measured_elsewhere(record) || !record.verification) return;
  AccuracyKey key{record.problem, record.variant, record.backend, record.tile, "", ""};
  key.problem.seed = 0;
  for (const auto& [tensor, verdict] : record.verification->tensors)
    for (const Metric& metric : metrics) {
      key.tensor = tensor;
      key.metric = metric.name;
      take(key, verdict.*metric.error, verdict.*metric.bound);
    }
}

}  // namespace

double AccuracySpread::limit() const {
  return highest + std::max(highest - lowest, 0.01 * bound);
}

std::vector<AccuracyKey> errors_of(const Record& record) {
  std::vector<AccuracyKey> keys;
  if (record.verification && record.verification->ok)
    each_error(record, [&](const AccuracyKey& key, double, double) { keys.push_back(key); });
  return keys;
}

AccuracyBaseline accuracy_baseline(std::span<const Record> records) {
  AccuracyBaseline baseline;
  for (const Record& record : records) {
    if (!record.verification || !record.verification->ok) continue;
    each_error(record, [&](const AccuracyKey& key, double error, double bound) {
      AccuracySpread& spread = baseline[key];
      spread.lowest = spread.seeds == 0 ? error : std::min(spread.lowest, error);
      spread.highest = spread.seeds == 0 ? error : std::max(spread.highest, error);
      spread.bound = std::max(spread.bound, bound);
      ++spread.seeds;
    });
  }
  return baseline;
}

std::vector<std::string> accuracy_losses(const Record& record, const AccuracyBaseline& baseline,
                                         std::size_t& unknown) {
  std::vector<std::string> losses;
  each_error(record, [&](const AccuracyKey& key, double error, double) {
    const auto found = baseline.find(key);
    if (found == baseline.end() || found->second.seeds < least_seeds) {
      ++unknown;
      return;
    }
    const AccuracySpread& spread = found->second;
    if (error <= spread.limit()) return;
    std::ostringstream text;
    text << key.tensor << ": " << key.metric << " " << error << " is above " << spread.limit()
         << ": it was " << spread.lowest << " to " << spread.highest << " over " << spread.seeds
         << " seeds";
    losses.push_back(text.str());
  });
  return losses;
}

}  // namespace gla_bench
