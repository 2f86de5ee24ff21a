#pragma once
// Runs the stages in order: the reference is computed once per problem, all candidates are verified
// before any is timed, and each record is emitted as soon as it is final.

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
  bool measure = true;  ///< false: candidates are verified but not timed
  TimingPolicy timing;
  CounterPolicy counters;
  EnergyPolicy energy;
  ReferencePlace reference = ReferencePlace::automatic;
  Tolerance tolerance;
  KeepWrong keep_wrong;
  int winner_launches = 0;      ///< as Policy::winner_launches
  double copy_gb_per_s = 0;     ///< copy bandwidth of the backend; 0: not measured
  double last_level_cache = 0;  ///< bytes; 0: unknown
};

/// The reason of a row whose problem could not be worked on begins with this.
constexpr std::string_view before_any_candidate = "before any candidate ran: ";

/// A step of the work on a problem that may take long or go wrong. In a worker each step has a time
/// limit of its own (workers/step_limit.hpp).
enum class RunStep {
  reference,  ///< inputs, float64 reference and placing the tensors, or the plain computation of
              ///< one arithmetic
  build,
  verify,
  measure,
  counters  ///< hardware counters, which are read after timing in passes of their own
};
std::string_view name(RunStep step);
std::optional<RunStep> parse_run_step(std::string_view text);

/// Observes the work on a problem as it proceeds. A candidate is named by its index in
/// Assignment::accepted. A step for the problem as a whole names no candidate.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Called before a step.
  virtual void starting(RunStep step, std::optional<std::size_t> candidate) = 0;
  /// A candidate is right. It will be measured once all candidates of the problem are verified.
  virtual void verified(std::size_t candidate) = 0;
  /// A candidate is measured. The record lacks only what is counted after timing.
  virtual void timed(const Record& record, std::size_t candidate) = 0;
  /// A record is final.
  virtual void recorded(const Record& record, std::size_t candidate) = 0;
  /// The device was lost in a step, and nothing runs after it. No candidate is named where the step
  /// was for the problem as a whole. The record says what is known.
  virtual void lost(const Record& record, std::optional<std::size_t> candidate) = 0;
  /// The device was lost after the last record, while counters were being read for it.
  virtual void gone() = 0;
};

/// What is made once per problem and kept between calls of run_point().
struct Staged {
  std::optional<ProblemTruth> truth;
  std::unique_ptr<Workset> workset;
  std::set<Arithmetic> baselines;  ///< computed already
  /// Further worksets of the problem for the sustained time, once they were asked for. Empty where
  /// there are none.
  std::optional<std::vector<std::unique_ptr<Workset>>> copies;

  bool holds(const Problem& problem) const { return truth && truth->problem() == problem; }
  void clear();
};

/// Verifies all candidates of one problem one after the other, then measures those that are right.
/// Stages the problem unless `staged` holds it already. Returns false when the device was lost.
/// @throws InputError from reading tensors
bool run_point(Backend& backend, const Assignment& work, const RunRules& plan,
               RunObserver& observer, Staged& staged);

struct RunSummary {
  std::map<Status, std::size_t> counts;
  bool device_lost = false;  ///< the run ended early; what is missing can be resumed

  std::size_t count(Status status) const;
  /// Something was verified, nothing failed, and the run was completed.
  bool ok() const;
};

/// The number of candidates to try.
std::size_t candidate_count(std::span<const Assignment> work);

/// Receives each record when it is final.
using RecordSink = std::function<void(const Record&)>;

/// The number of steps that run() reports for these candidates: two per candidate (verify,
/// measure), or one without timing.
std::size_t progress_steps(std::span<const Assignment> work, bool measure);

/// Runs everything in this process. This is for tests and for code that already runs inside a
/// worker. A candidate that fails ends in a status with a reason, and the run goes on; a lost
/// device ends the run. Without a device candidates end as `built`.
/// @throws InputError from reading tensors and from the sink
RunSummary run(Backend& backend, std::span<const Assignment> work, const RunRules& plan,
               const RecordSink& sink, Progress& progress);

}  // namespace gla_bench
