#pragma once
// The order of the stages: reference once per problem, all candidates verified before any is timed,
// one record each as soon as it is final.

#include <functional>
#include <map>
#include <span>

#include "harness/assignment.hpp"
#include "harness/backend.hpp"
#include "harness/measure.hpp"
#include "harness/progress.hpp"
#include "harness/verify.hpp"

namespace gla_bench {

struct RunPlan {
  Place place;
  bool measure = true;  ///< false: verification alone
  TimingPolicy timing;
  ReferencePlace reference = ReferencePlace::automatic;
  Tolerance tolerance;
  double copy_gb_per_s = 0;     ///< of the backend; 0: not measured
  double last_level_cache = 0;  ///< bytes; 0: unknown
};

struct RunSummary {
  std::map<Status, std::size_t> counts;
  bool device_lost = false;  ///< the run ended early; what is missing can be resumed

  std::size_t count(Status status) const;
  /// Something was verified, nothing failed, and the run came to its end.
  bool ok() const;
};

/// Takes each record when it is final.
using RecordSink = std::function<void(const Record&)>;

/// Steps that run() reports for these: two per candidate (verify, measure), one without timing.
std::size_t progress_steps(std::span<const Assignment> work, bool measure);

/// Runs everything. Candidates that fail end in a status with a reason, and the run goes on; a lost
/// device ends it. Without a device candidates end as `built`. @throws InputError from reading
/// tensors and from the sink
RunSummary run(Backend& backend, std::span<const Assignment> work, const RunPlan& plan,
               const RecordSink& sink, Progress& progress);

}  // namespace gla_bench
