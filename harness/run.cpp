#include "harness/run.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <sstream>

#include "harness/error.hpp"
#include "harness/tensor_file.hpp"

namespace gla_bench {
namespace {

enum class Outcome { done, failed, device_lost };

Outcome fail(Record& record, Status status, std::string reason, Outcome outcome = Outcome::failed) {
  record.status = status;
  record.reason = std::move(reason);
  return outcome;
}

/// Does a piece of a candidate's work; the only place where faults become statuses.
Outcome try_candidate(Record& record, const std::function<void()>& work) {
  try {
    work();
    return Outcome::done;
  } catch (const InputError&) {
    throw;  // not the candidate's fault
  } catch (const BuildError& error) {
    return fail(record, Status::build_failed, error.what());
  } catch (const DeviceLost& error) {
    return fail(record, Status::run_failed, error.what(), Outcome::device_lost);
  } catch (const std::bad_alloc&) {
    return fail(record, Status::run_failed, "out of host memory");
  } catch (const std::exception& error) {
    return fail(record, Status::run_failed, error.what());
  }
}

/// Why a verification is not ok, as a record's reason.
std::string reason_of(const Verification& verification) {
  if (verification.ok) return "";
  if (!verification.fault.empty()) return verification.fault;
  std::ostringstream text;
  for (const auto& [tensor, verdict] : verification.tensors)
    if (!verdict.ok)
      text << (text.tellp() > 0 ? "; " : "") << tensor << ": rel_l2 " << verdict.rel_l2
           << " (bound " << verdict.bound << "), worst chunk " << verdict.worst_chunk_rel_l2
           << " (bound " << verdict.worst_chunk_bound << "), max_abs " << verdict.max_abs
           << " (bound " << verdict.max_abs_bound << ")";
  return text.str();
}

/// One problem being worked on.
class PointRun {
 public:
  PointRun(Backend& backend, const Assignment& work, const RunPlan& plan, const RecordSink& sink,
           Progress& progress, RunSummary& summary)
      : backend_(backend),
        work_(work),
        plan_(plan),
        sink_(sink),
        progress_(progress),
        summary_(summary) {}

  void run() {
    for (const Record& record : work_.refused) emit(record);
    if (work_.accepted.empty()) return;
    if (!stage()) return;
    std::vector<Trial> verified;
    for (const Candidate& candidate : work_.accepted) {
      Trial trial{candidate, new_record(*work_.op, candidate, plan_.place)};
      progress_.at("verify " + gla_bench::describe(candidate));
      const Outcome outcome = try_candidate(trial.record, [&] { verify(trial); });
      progress_.advance();
      if (plan_.measure && trial.record.status == Status::verified)
        verified.push_back(std::move(trial));
      else
        finish(trial.record, plan_.measure ? 1 : 0);
      if (lost(outcome)) return;
    }
    for (Trial& trial : verified) {
      progress_.at("measure " + gla_bench::describe(trial.candidate));
      const Outcome outcome = try_candidate(trial.record, [&] { measure_trial(trial); });
      progress_.advance();
      finish(trial.record, 0);
      if (lost(outcome)) return;
    }
  }

 private:
  struct Trial {
    Candidate candidate;
    Record record;
  };

  void emit(const Record& record) {
    ++summary_.counts[record.status];
    sink_(record);
  }

  void finish(const Record& record, std::size_t skipped_steps) {
    progress_.skip(skipped_steps);
    if (is_failure(record.status)) progress_.message(gla_bench::describe(record));
    emit(record);
  }

  bool lost(Outcome outcome) {
    if (outcome != Outcome::device_lost) return false;
    summary_.device_lost = true;
    return true;
  }

  /// Inputs, reference and tensors in place; otherwise every candidate ends with the reason.
  bool stage() {
    if (!backend_.can_run()) return true;
    progress_.at("reference of " + gla_bench::describe(work_.problem));
    Record failed;
    const Outcome outcome = try_candidate(failed, [&] {
      truth_.emplace(*work_.op, work_.problem, inputs_of(*work_.op, work_.problem), &backend_,
                     plan_.reference);
      workset_ = backend_.stage(*work_.op, work_.problem, truth_->inputs());
    });
    if (outcome == Outcome::done) return true;
    for (const Candidate& candidate : work_.accepted) {
      Record record = new_record(*work_.op, candidate, plan_.place);
      record.status = failed.status;
      record.reason = "before any candidate ran: " + failed.reason;
      finish(record, plan_.measure ? 2 : 1);
      if (lost(outcome)) break;
    }
    return false;
  }

  std::unique_ptr<Plan> build(Trial& trial) {
    std::unique_ptr<Plan> plan = backend_.build(trial.candidate);
    if (!trial.record.build && plan_.place.backend == BackendId::cuda)
      trial.record.build = plan->info();
    return plan;
  }

  void verify(Trial& trial) {
    const auto plan = build(trial);
    trial.record.status = Status::built;
    if (!workset_) return;
    plan->prepare(*workset_);
    const Arithmetic arithmetic =
        trial.candidate.variant->arithmetic(work_.problem, trial.candidate.tile);
    trial.record.verification =
        verify_candidate(*workset_, *plan, *truth_, arithmetic, plan_.tolerance,
                         {.reproducible = trial.candidate.variant->reproducible});
    trial.record.status = trial.record.verification->ok ? Status::verified : Status::wrong;
    trial.record.reason = reason_of(*trial.record.verification);
  }

  // Built again (from the cache), so that only one candidate's workspace is there at a time.
  void measure_trial(Trial& trial) {
    const auto plan = build(trial);
    plan->prepare(*workset_);
    poison_before_timing(*workset_, *plan);
    const SpeedLimit limit{trial.record.io.floor_bytes, plan_.copy_gb_per_s,
                           plan_.last_level_cache};
    trial.record.timing = measure(*plan, backend_, plan_.timing, limit);
    trial.record.stages = measure_stages(*plan, trial.candidate);
    verify_last_timed(*workset_, *plan, *truth_, plan_.tolerance, *trial.record.verification);
    trial.record.status = trial.record.verification->ok ? Status::measured : Status::wrong;
    trial.record.reason = reason_of(*trial.record.verification);
  }

  Backend& backend_;
  const Assignment& work_;
  const RunPlan& plan_;
  const RecordSink& sink_;
  Progress& progress_;
  RunSummary& summary_;
  std::optional<ProblemTruth> truth_;
  std::unique_ptr<Workset> workset_;
};

}  // namespace

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

std::size_t progress_steps(std::span<const Assignment> work, bool measure) {
  std::size_t steps = 0;
  for (const Assignment& point : work) steps += point.accepted.size() * (measure ? 2 : 1);
  return steps;
}

RunSummary run(Backend& backend, std::span<const Assignment> work, const RunPlan& plan,
               const RecordSink& sink, Progress& progress) {
  std::vector<Candidate> ahead;
  for (const Assignment& point : work)
    ahead.insert(ahead.end(), point.accepted.begin(), point.accepted.end());
  backend.build_ahead(ahead);
  RunSummary summary;
  for (const Assignment& point : work) {
    PointRun(backend, point, plan, sink, progress, summary).run();
    if (summary.device_lost) break;
  }
  return summary;
}

}  // namespace gla_bench
