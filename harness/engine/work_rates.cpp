#include "harness/engine/work_rates.hpp"

#include <algorithm>

namespace gla_bench {
namespace {

// A tenth of what a slow server's memory and processor, and a small GPU, can do.
constexpr WorkRates assumed_host{2, 0.01};
constexpr WorkRates assumed_device{50, 2};

}  // namespace

WorkRates rates_or_assumed(WorkRates measured, BackendId backend) {
  const WorkRates& assumed = backend == BackendId::host ? assumed_host : assumed_device;
  // Written so that NaN is replaced, too.
  if (!(measured.copy_gb_per_s > 0)) measured.copy_gb_per_s = assumed.copy_gb_per_s;
  if (!(measured.matrix_tflop_per_s > 0)) measured.matrix_tflop_per_s = assumed.matrix_tflop_per_s;
  return measured;
}

double ideal_seconds(const StepWork& work, const WorkRates& rates) {
  return std::max(work.floor_bytes / (rates.copy_gb_per_s * 1e9),
                  work.flops / (rates.matrix_tflop_per_s * 1e12));
}

StepWork work_of(const Operator& op, const Problem& problem) {
  const Work work = op.work(problem);
  return {work.floor_bytes, work.flops};
}

StepWork work_of(const Operator& op, const Candidate& candidate) {
  StepWork work = work_of(op, candidate.problem);
  const Traffic traffic = candidate.variant->traffic(candidate.problem, candidate.tile);
  work.floor_bytes = std::max(work.floor_bytes, traffic.read_bytes + traffic.write_bytes);
  work.flops = std::max(work.flops, candidate.variant->flops(candidate.problem, candidate.tile));
  return work;
}

}  // namespace gla_bench
