#include "harness/engine/duration.hpp"

#include <algorithm>

namespace gla_bench {
namespace {

// Calls that a verification makes: first, repeat and other inputs. The first and the last are
// compared with a reference each.
constexpr double calls_to_verify = 3, comparisons = 2;
// Seconds of a verification besides its calls, for staging, poisoning and comparing small tensors.
constexpr double least_to_verify = 0.05;
// Bytes a second that are copied back and compared.
constexpr double compared_bytes_per_second = 200e6;
// Seconds that the device's counters take after timing.
constexpr double counting_seconds = 0.2;
// Float64 operations a second of a reference: on one core, and on a device.
constexpr double host_reference_rate = 1e9, device_reference_rate = 1e12;

double series_of(const TimingPolicy& timing) {
  return timing.hot ? 2 : 1;
}

double verify_seconds(const StepWork& work, double call) {
  return least_to_verify + calls_to_verify * call +
         comparisons * work.floor_bytes / compared_bytes_per_second;
}

// One candidate whose series go on as long as the policy allows, or as long as its first call
// takes.
double longest_measure(double call, const TimingPolicy& timing) {
  return series_of(timing) * std::max(timing.max_seconds, call);
}

}  // namespace

CandidateSeconds likely_seconds(const StepWork& work, const WorkRates& rates,
                                const TimingPolicy& timing, BackendId backend) {
  const double call = ideal_seconds(work, rates);
  const double settled = backend == BackendId::host ? (timing.min_seconds + timing.max_seconds) / 2
                                                    : timing.min_seconds;
  const double enough = (timing.warmup + timing.min_samples) * call;
  const double counted = backend == BackendId::host ? 0 : counting_seconds;
  return {verify_seconds(work, call),
          counted + std::min(series_of(timing) * std::max(settled, enough),
                             longest_measure(call, timing))};
}

SweepSeconds point_seconds(const Assignment& point, const SweepPlan& plan) {
  if (point.accepted.empty()) return {};
  const WorkRates rates = rates_or_assumed(plan.rates, plan.backend);
  const bool host = plan.backend == BackendId::host;
  const double reference_rate =
      host ? host_reference_rate * static_cast<double>(std::max<std::size_t>(plan.cores, 1))
           : device_reference_rate;
  const double reference = comparisons * work_of(*point.op, point.problem).flops / reference_rate;
  SweepSeconds total{reference, reference};
  for (const Candidate& candidate : point.accepted) {
    const StepWork of = work_of(*point.op, candidate);
    const CandidateSeconds likely = likely_seconds(of, rates, plan.timing, plan.backend);
    total.likely += likely.verify, total.longest += likely.verify;
    if (!plan.measure) continue;
    total.likely += likely.measure;
    total.longest +=
        (host ? 0 : counting_seconds) + longest_measure(ideal_seconds(of, rates), plan.timing);
  }
  return total;
}

SweepSeconds sweep_seconds(std::span<const Assignment> work, const SweepPlan& plan) {
  SweepSeconds total;
  for (const Assignment& point : work) {
    const SweepSeconds of = point_seconds(point, plan);
    total.likely += of.likely, total.longest += of.longest;
  }
  const auto workers = static_cast<double>(std::max<std::size_t>(plan.workers, 1));
  const auto cores = static_cast<double>(std::max<std::size_t>(plan.cores, 1));
  // Compilation runs beside the rest, on all cores, but nothing can start before the first is
  // compiled.
  const double compiling = static_cast<double>(plan.compile_jobs) * compile_seconds / cores;
  const double first = plan.compile_jobs > 0 ? compile_seconds : 0;
  return {first + std::max(total.likely / workers, compiling),
          first + total.longest / workers + compiling};
}

CandidateSeconds mean_seconds(std::span<const Assignment> work, const WorkRates& rates,
                              const TimingPolicy& timing, BackendId backend) {
  CandidateSeconds sum;
  double count = 0;
  for (const Assignment& point : work)
    for (const Candidate& candidate : point.accepted) {
      const CandidateSeconds one =
          likely_seconds(work_of(*point.op, candidate), rates, timing, backend);
      sum.verify += one.verify, sum.measure += one.measure, count += 1;
    }
  return count > 0 ? CandidateSeconds{sum.verify / count, sum.measure / count} : sum;
}

TimeLeft::TimeLeft(CandidateSeconds expected, std::size_t candidates, bool measure)
    : verify_{expected.verify, 0, 0, candidates},
      measure_{expected.measure, 0, 0, measure ? candidates : 0} {}

void TimeLeft::took(Stage stage, double seconds) {
  Steps& steps = of(stage);
  steps.taken += seconds;
  ++steps.done;
  steps.left -= std::min<std::size_t>(steps.left, 1);
}

void TimeLeft::skip(Stage stage) {
  Steps& steps = of(stage);
  steps.left -= std::min<std::size_t>(steps.left, 1);
}

double TimeLeft::seconds() const {
  double total = 0;
  for (const Steps& steps : {verify_, measure_})
    total += static_cast<double>(steps.left) * (weight * steps.expected + steps.taken) /
             (weight + static_cast<double>(steps.done));
  return total;
}

}  // namespace gla_bench
