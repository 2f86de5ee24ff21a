#include "harness/workers/death_policy.hpp"

#include "harness/engine/run.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {

Status status_of(const WorkerEnd& end) {
  return end.timed_out ? Status::timeout : Status::crashed;
}

DeathDecision after_death(const WorkerDeath& death) {
  const WorkerEnd& end = death.end;
  if (!death.in_hand) {
    if (death.blameless + 1 < most_blameless_deaths)
      return {AfterDeath::go_on, status_of(end), end.cause};
    return {AfterDeath::stop, status_of(end),
            std::to_string(most_blameless_deaths) +
                " workers ended one after the other before they began any work: " + end.cause};
  }
  const StepEvent& step = *death.in_hand;
  if (step.candidate && step.step == RunStep::counters && death.timed)
    return {AfterDeath::keep_timing, status_of(end), end.cause};
  if (!end.timed_out && death.earlier == 0)
    return {AfterDeath::try_again, status_of(end), end.cause};
  const std::string where =
      step.candidate ? std::string(name(step.step)) + ": " : std::string(before_any_candidate);
  return {step.candidate ? AfterDeath::give_up : AfterDeath::give_up_problem, status_of(end),
          where + end.cause + (end.timed_out ? "" : ", also when tried again alone")};
}

std::string retry_text(const WorkerEnd& end, RunStep step, const Candidate* candidate) {
  if (candidate == nullptr)
    return end.cause + ", in the " + std::string(name(step)) + ", which is tried again";
  return end.cause + ", in " + std::string(name(step)) + " of " + describe(*candidate) +
         ", which is tried again alone";
}

std::string replaced_text(const WorkerEnd& end) {
  return end.cause + ", with no step under way: a new process takes its place";
}

std::string memory_fault(double resident_bytes, double most) {
  if (!(most > 0) || resident_bytes <= most) return "";
  return "out of host memory: it held " + format_bytes(resident_bytes) + ", " + format_bytes(most) +
         " are there";
}

}  // namespace gla_bench
