#pragma once
// What follows when a worker dies: who is blamed, who is tried again, who is given up, and when to
// stop. Pure functions; whoever holds workers (dispatch.hpp, search/live.hpp) acts on them.

#include <optional>
#include <string>
#include <string_view>

#include "harness/workers/protocol.hpp"

namespace gla_bench {

/// Why a worker ended in the middle of its work.
struct WorkerEnd {
  bool timed_out = false;  ///< it was killed, because a step was over its limit
  std::string cause;       ///< "SIGSEGV (Segmentation fault)", "a call took more than 30 s"
};

/// So many deaths in a row for which nobody is to blame end the work.
constexpr int most_blameless_deaths = 3;

/// What is known of a death.
struct WorkerDeath {
  WorkerEnd end;
  std::optional<StepEvent> in_hand;  ///< the step under way; nothing between steps
  int earlier = 0;     ///< deaths before this one in a step of the same candidate, or, where the
                       ///< step has no candidate, in steps of the problem as a whole
  int blameless = 0;   ///< deaths in a row before this one for which nobody was to blame
  bool timed = false;  ///< the candidate's times are known; what was left is to count
};

enum class AfterDeath {
  go_on,            ///< no step had begun, so nobody is to blame: a new worker takes the work
  stop,             ///< too many of those in a row: nothing can run at this place
  keep_timing,      ///< the candidate's times stand, with the cause in the place of the counts
  try_again,        ///< once more: the candidate in hand, and alone; or the problem's own step
  give_up,          ///< the candidate in hand has failed
  give_up_problem,  ///< so has every candidate of the problem that has no row yet
};

struct DeathDecision {
  AfterDeath action = AfterDeath::go_on;
  Status status = Status::crashed;  ///< of rows that are given up: `crashed` or `timeout`
  std::string reason;               ///< for those rows, or why work stops
};

/// A crash may be a neighbour's doing, so its suspect is tried once more; a hang is not tried
/// again, since each costs its whole limit.
DeathDecision after_death(const WorkerDeath& death);

/// `timeout` or `crashed`.
Status status_of(const WorkerEnd& end);

/// What people are told of a step that is tried again. `candidate` is null for a step of the
/// problem as a whole.
std::string retry_text(const WorkerEnd& end, RunStep step, const Candidate* candidate);

/// What people are told when a suspect goes through.
constexpr std::string_view acquittal_text =
    "it went through when tried alone, so something else ended the worker; what was being compiled "
    "ahead is compiled in its turn";

/// Why a worker with so many bytes resident is to be killed; empty where it is within `most`, or
/// where that is 0 (any).
std::string memory_fault(double resident_bytes, double most);

}  // namespace gla_bench
