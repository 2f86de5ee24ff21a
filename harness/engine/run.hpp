#pragma once
// The order of the stages: reference once per problem, all candidates verified before any is timed,
// one record each as soon as it is final.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "harness/backends/backend.hpp"
#include "harness/engine/assignment.hpp"
#include "harness/measure/measure.hpp"
#include "harness/support/progress.hpp"
#include "harness/verify/verify.hpp"

namespace gla_bench {

/// How the candidates of a problem are verified and measured, and where.
struct RunRules {
  Place place;
  bool measure = true;  ///< false: verification alone
  TimingPolicy timing;
  CounterPolicy counters;
  EnergyPolicy energy;
  ReferencePlace reference = ReferencePlace::automatic;
  Tolerance tolerance;
  KeepWrong keep_wrong;
  double copy_gb_per_s = 0;     ///< of the backend; 0: not measured
  double last_level_cache = 0;  ///< bytes; 0: unknown
};

/// Begins the reason of a row whose problem could not be worked on.
constexpr std::string_view before_any_candidate = "before any candidate ran: ";

/// What may take long, or go wrong, on a problem's way to its records. Each has a limit of its own
/// where a worker does it (workers/step_limit.hpp).
enum class RunStep {
  reference,  ///< inputs, float64 reference, tensors in place; or the plain computation of an
              ///< arithmetic
  build,
  verify,
  measure,
  counters  ///< what is read after timing, in passes of its own
};
std::string_view name(RunStep step);
std::optional<RunStep> parse_run_step(std::string_view text);

/// Sees the work on a problem as it goes. Candidates are named by their place in
/// Assignment::accepted; steps for the problem as a whole name none.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Before a step.
  virtual void starting(RunStep step, std::optional<std::size_t> candidate) = 0;
  /// A candidate is right, and will be measured when all of the problem are verified.
  virtual void verified(std::size_t candidate) = 0;
  /// A candidate is measured; the record lacks only what is counted after timing.
  virtual void timed(const Record& record, std::size_t candidate) = 0;
  /// A record that is final.
  virtual void recorded(const Record& record, std::size_t candidate) = 0;
  /// The device was lost in a step (of the problem as a whole: no candidate); nothing runs after
  /// it. The record says what is known.
  virtual void lost(const Record& record, std::optional<std::size_t> candidate) = 0;
  /// The device was lost behind the last record, while something was counted for it.
  virtual void gone() = 0;
};

/// What is made once per problem, kept between calls of run_point().
struct Staged {
  std::optional<ProblemTruth> truth;
  std::unique_ptr<Workset> workset;
  std::set<Arithmetic> baselines;  ///< computed already

  bool holds(const Problem& problem) const { return truth && truth->problem() == problem; }
  void clear();
};

/// All candidates of one problem: verified one after the other, then those that are right are
/// measured. Stages the problem unless `staged` holds it. False when the device was lost.
/// @throws InputError from reading tensors
bool run_point(Backend& backend, const Assignment& work, const RunRules& plan,
               RunObserver& observer, Staged& staged);

struct RunSummary {
  std::map<Status, std::size_t> counts;
  bool device_lost = false;  ///< the run ended early; what is missing can be resumed

  std::size_t count(Status status) const;
  /// Something was verified, nothing failed, and the run came to its end.
  bool ok() const;
};

/// How many candidates there are to try.
std::size_t candidate_count(std::span<const Assignment> work);

/// Takes each record when it is final.
using RecordSink = std::function<void(const Record&)>;

/// Steps that run() reports for these: two per candidate (verify, measure), one without timing.
std::size_t progress_steps(std::span<const Assignment> work, bool measure);

/// Runs everything in this process: for tests, and for what runs inside a worker already.
/// Candidates that fail end in a status with a reason, and the run goes on; a lost device ends it.
/// Without a device candidates end as `built`. @throws InputError from reading tensors and from the
/// sink
RunSummary run(Backend& backend, std::span<const Assignment> work, const RunRules& plan,
               const RecordSink& sink, Progress& progress);

}  // namespace gla_bench
