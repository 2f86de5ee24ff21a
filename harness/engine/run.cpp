#include "harness/engine/run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "harness/engine/run_progress.hpp"
#include "harness/engine/statuses.hpp"
#include "harness/engine/sustained.hpp"
#include "harness/engine/wrong/where_wrong.hpp"
#include "harness/engine/wrong/wrong_tensors.hpp"
#include "harness/measure/checks.hpp"
#include "harness/measure/counted.hpp"
#include "harness/measure/readings.hpp"
#include "harness/support/elapsed.hpp"
#include "harness/tensors/tensor_file.hpp"
#include "harness/verify/looks.hpp"

namespace gla_bench {
namespace {

/// Another project's implementation whose errors are too large is timed all the same: what it costs
/// is asked for wherever it stands beside ours. Its status stays `wrong`.
bool is_timed_though_wrong(const Record& record) {
  return record.peer && record.status == Status::wrong && record.verification &&
         check::is_of_errors(record.verification->check);
}

/// One problem being worked on.
class PointRun {
 public:
  PointRun(Backend& backend, const Assignment& work, const RunRules& plan, RunObserver& observer,
           Staged& staged)
      : backend_(backend), work_(work), plan_(plan), observer_(observer), staged_(staged) {}

  /// False when the device was lost.
  bool run() {
    if (!stage()) return !lost_;
    std::vector<Trial> verified;
    for (std::size_t i = 0; i < work_.accepted.size() && !lost_; ++i) {
      Trial trial{i, work_.accepted[i], new_record(*work_.op, work_.accepted[i], plan_.place)};
      const StepEnd outcome = timed(trial, [&] { verify(trial); });
      if (plan_.measure &&
          (trial.record.status == Status::verified || is_timed_though_wrong(trial.record))) {
        observer_.verified(i);
        verified.push_back(std::move(trial));
      } else {
        finish(trial, outcome);
      }
    }
    for (Trial& trial : verified) {
      if (lost_) break;
      finish(trial, timed(trial, [&] { measure_trial(trial); }));
      if (gone_) observer_.gone();
      lost_ = lost_ || gone_;
    }
    return !lost_;
  }

 private:
  struct Trial {
    std::size_t index;
    Candidate candidate;
    Record record;
  };

  static StepEnd timed(Trial& trial, const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    const StepEnd outcome = try_candidate(trial.record, work);
    trial.record.seconds += seconds_since(start);
    return outcome;
  }

  void finish(const Trial& trial, StepEnd outcome) {
    if (trial.record.status == Status::wrong) mend();
    if (outcome == StepEnd::device_lost) {
      lost_ = true;
      observer_.lost(trial.record, trial.index);
    } else {
      observer_.recorded(trial.record, trial.index);
    }
  }

  /// If a candidate damaged the tensors, or the memory around them, the next one must not be blamed
  /// for it.
  void mend() {
    staged_.copies.reset();
    if (!staged_.workset || !staged_.workset->damage()) return;
    staged_.workset.reset();
    Record failed;  // the candidate's own record stays what it is
    try_candidate(failed, [&] {
      staged_.workset = backend_.stage(*work_.op, work_.problem, staged_.truth->inputs());
    });
    if (!staged_.workset) why_unstaged_ = failed.reason;
  }

  Workset& workset() const {
    if (!staged_.workset) throw RunError("its tensors could not be staged again: " + why_unstaged_);
    return *staged_.workset;
  }

  /// Makes the inputs and the reference and places the tensors. On failure every candidate ends
  /// with the reason.
  bool stage() {
    if (work_.accepted.empty()) return false;
    if (!backend_.can_run() || staged_.holds(work_.problem)) return true;
    staged_.clear();
    Record failed;
    const StepEnd outcome = try_candidate(failed, [&] {
      observer_.starting(RunStep::reference, std::nullopt);
      staged_.truth.emplace(*work_.op, work_.problem, inputs_of(*work_.op, work_.problem),
                            &backend_, plan_.reference);
      staged_.truth->others();  // its reference, too, belongs to this step
      staged_.workset = backend_.stage(*work_.op, work_.problem, staged_.truth->inputs());
    });
    if (outcome == StepEnd::done) return true;
    staged_.clear();
    for (std::size_t i = 0; i < work_.accepted.size(); ++i) {
      Record record = new_record(*work_.op, work_.accepted[i], plan_.place);
      record.status = failed.status;
      record.reason = std::string(before_any_candidate) + failed.reason;
      lost_ = outcome == StepEnd::device_lost;
      if (lost_) {
        observer_.lost(record, std::nullopt);
        break;
      }
      observer_.recorded(record, i);
    }
    return false;
  }

  std::unique_ptr<Plan> build(Trial& trial) {
    observer_.starting(RunStep::build, trial.index);
    std::unique_ptr<Plan> plan = backend_.build(trial.candidate);
    if (!trial.record.build && plan_.place.backend == BackendId::cuda)
      trial.record.build = plan->info();
    return plan;
  }

  /// The plain computation may take longer than any candidate, so it is a step of its own, done
  /// once.
  void make_baseline(const Trial& trial, Arithmetic arithmetic) {
    if (staged_.baselines.contains(arithmetic)) return;
    observer_.starting(RunStep::reference, trial.index);
    staged_.truth->baseline(arithmetic);
    if (ProblemTruth* others = staged_.truth->others()) others->baseline(arithmetic);
    staged_.baselines.insert(arithmetic);
  }

  void verify(Trial& trial) {
    const auto plan = build(trial);
    trial.record.status = Status::built;
    if (!backend_.can_run()) return;
    const Arithmetic arithmetic =
        trial.candidate.variant->arithmetic(work_.problem, trial.candidate.tile);
    make_baseline(trial, arithmetic);
    observer_.starting(RunStep::verify, trial.index);
    plan->prepare(workset());
    std::optional<WrongOutputs> wrong;
    trial.record.verification = verify_candidate(workset(), *plan, *staged_.truth, arithmetic,
                                                 plan_.tolerance, options_of(trial, wrong));
    trial.record.verifier_hash = verifier_hash(plan_.place, work_.problem.op);
    trial.record.status = trial.record.verification->ok ? Status::verified : Status::wrong;
    trial.record.reason = reason_of(*trial.record.verification);
    keep(trial, wrong);
  }

  /// The outputs of a wrong launch, and what they were held against.
  struct WrongOutputs {
    const ProblemTruth* truth;
    HostTensors outputs;
  };

  static VerifyOptions options_of(const Trial& trial, std::optional<WrongOutputs>& wrong) {
    return {trial.candidate.variant->reproducible,
            [&wrong](const ProblemTruth& truth, const HostTensors& outputs) {
              wrong = {&truth, outputs};
            }};
  }

  /// Says where the outputs differ, and saves them where the config asks for it.
  void keep(Trial& trial, const std::optional<WrongOutputs>& wrong) {
    if (!wrong) return;
    const std::string where =
        where_wrong(*trial.record.verification, *wrong->truth, wrong->outputs);
    if (!where.empty()) trial.record.reason += "; " + where;
    if (trial.candidate.variant->reproducible && !trial.record.verification->deterministic)
      trial.record.reason +=
          "; two calls with the same inputs gave other bits, as a race does, or memory that is "
          "read "
          "before it is written";
    if (const auto path =
            write_wrong_tensors(plan_.keep_wrong, trial.record, *wrong->truth, wrong->outputs))
      trial.record.wrong_tensors = *path;
  }

  // The candidate is built again (from the cache), so that only one workspace exists at a time.
  void measure_trial(Trial& trial) {
    const auto plan = build(trial);
    observer_.starting(RunStep::measure, trial.index);
    plan->prepare(workset());
    poison_before_timing(workset(), *plan);
    const SpeedLimit limit{work_.op->work(work_.problem).least_bytes(), plan_.copy_gb_per_s,
                           plan_.last_level_cache};
    std::optional<WrongOutputs> wrong;
    const VerifyOptions options = options_of(trial, wrong);
    const Looked looked{workset(), *plan, *staged_.truth, plan_.tolerance, options};
    Verification& verification = *trial.record.verification;
    trial.record.timing = measure(*plan, backend_, plan_.timing, limit,
                                  look_at_samples(looked, work_.problem.seed, verification));
    trial.record.stages = measure_stages(*plan, trial.candidate);
    if (verification.ok)
      verify_last_timed(workset(), *plan, *staged_.truth, plan_.tolerance, verification, options);
    if (verification.ok && is_winner(trial))
      verify_beside_load(looked, backend_, plan_.winner_launches, plan_.timing.max_seconds,
                         verification);
    if (verification.ok) add_sustained_time(looked, staged_, plan_, trial.record);
    if (trial.record.status == Status::wrong) return;  // its verdict stands, with a time beside it
    trial.record.status = verification.ok ? Status::measured : Status::wrong;
    trial.record.reason = reason_of(*trial.record.verification);
    keep(trial, wrong);
    if (trial.record.status == Status::measured) count(*plan, trial);
  }

  /// Whether no candidate of the problem was faster so far.
  bool is_winner(const Trial& trial) {
    const double time = trial.record.timing->cold.median_ms;
    if (winner_ms_ && time > *winner_ms_) return false;
    winner_ms_ = time;
    return true;
  }

  /// Reads the counters after timing. Whatever goes wrong with it, the timing is kept.
  void count(Plan& plan, Trial& trial) {
    const double time = trial.record.timing->cold.median_ms;
    const auto [fastest, first] = fastest_.try_emplace(trial.record.variant, time);
    const bool best = first || time <= fastest->second;
    fastest->second = std::min(fastest->second, time);
    observer_.timed(trial.record, trial.index);
    observer_.starting(RunStep::counters, trial.index);
    try {
      record_readings(plan, backend_, plan_.counters, plan_.energy, best, trial.record);
    } catch (const DeviceLost&) {
      gone_ = true;  // the reason stands in the record
    }
    if (const auto fault = counted_fault(*work_.op, trial.record)) {
      Verification& verification = *trial.record.verification;
      verification.ok = false;
      verification.check = fault->check;
      verification.fault = fault->text;
      trial.record.status = Status::wrong;
      trial.record.reason = reason_of(verification);
    }
  }

  Backend& backend_;
  const Assignment& work_;
  const RunRules& plan_;
  RunObserver& observer_;
  Staged& staged_;
  std::map<std::string, double> fastest_;  ///< milliseconds of each variant on the problem
  std::optional<double> winner_ms_;        ///< of all variants
  bool lost_ = false, gone_ = false;
  std::string why_unstaged_;
};

/// Records and progress of a run in this process.
class LocalObserver final : public RunObserver {
 public:
  LocalObserver(const Assignment& work, const RecordSink& sink, RunProgress& progress,
                RunSummary& summary)
      : work_(work), sink_(sink), progress_(progress), summary_(summary) {}

  void starting(RunStep step, std::optional<std::size_t> candidate) override {
    progress_.starting(step, work_.problem, candidate ? &work_.accepted[*candidate] : nullptr);
  }
  void verified(std::size_t candidate) override { progress_.verified(work_.accepted[candidate]); }
  void timed(const Record&, std::size_t) override {}
  void gone() override { summary_.device_lost = true; }
  void recorded(const Record& record, std::size_t candidate) override {
    progress_.recorded(work_.accepted[candidate], record);
    ++summary_.counts[record.status];
    sink_(record);
  }
  void lost(const Record& record, std::optional<std::size_t> candidate) override {
    summary_.device_lost = true;
    recorded(record, candidate.value_or(0));
  }

 private:
  const Assignment& work_;
  const RecordSink& sink_;
  RunProgress& progress_;
  RunSummary& summary_;
};

constexpr std::array<std::pair<RunStep, std::string_view>, 5> step_names{
    {{RunStep::reference, "reference"},
     {RunStep::build, "build"},
     {RunStep::verify, "verify"},
     {RunStep::measure, "measure"},
     {RunStep::counters, "counters"}}};

}  // namespace

std::string_view name(RunStep step) {
  for (const auto& [value, text] : step_names)
    if (value == step) return text;
  return "?";
}

std::optional<RunStep> parse_run_step(std::string_view text) {
  for (const auto& [value, name] : step_names)
    if (name == text) return value;
  return std::nullopt;
}

void Staged::clear() {
  copies.reset();
  workset.reset();
  truth.reset();
  baselines.clear();
}

bool run_point(Backend& backend, const Assignment& work, const RunRules& plan,
               RunObserver& observer, Staged& staged) {
  return PointRun(backend, work, plan, observer, staged).run();
}

std::size_t RunSummary::count(Status status) const {
  const auto found = counts.find(status);
  return found == counts.end() ? 0 : found->second;
}

bool RunSummary::ok() const {
  const std::size_t passed = count(Status::measured) + count(Status::verified);
  const bool failed = std::any_of(counts.begin(), counts.end(), [](const auto& status) {
    return is_failure(status.first) && status.second > 0;
  });
  return passed > 0 && !failed && !device_lost;
}

std::size_t candidate_count(std::span<const Assignment> work) {
  std::size_t count = 0;
  for (const Assignment& point : work) count += point.accepted.size();
  return count;
}

std::size_t progress_steps(std::span<const Assignment> work, bool measure) {
  return candidate_count(work) * (measure ? 2 : 1);
}

RunSummary run(Backend& backend, std::span<const Assignment> work, const RunRules& plan,
               const RecordSink& sink, Progress& progress) {
  std::vector<Candidate> ahead;
  for (const Assignment& point : work)
    ahead.insert(ahead.end(), point.accepted.begin(), point.accepted.end());
  backend.build_ahead(ahead);
  RunSummary summary;
  const WorkRates rates = rates_or_assumed({plan.copy_gb_per_s, 0}, plan.place.backend);
  const CandidateSeconds expected = mean_seconds(work, rates, plan.timing, plan.place.backend);
  RunProgress steps(progress, plan.measure,
                    TimeLeft(expected, candidate_count(work), plan.measure));
  Staged staged;
  for (const Assignment& point : work) {
    for (const Record& record : point.refused) {
      ++summary.counts[record.status];
      sink(record);
    }
    LocalObserver observer(point, sink, steps, summary);
    if (!run_point(backend, point, plan, observer, staged)) break;
  }
  return summary;
}

}  // namespace gla_bench
