#pragma once
// Decides what follows when a worker dies: who is blamed, who is tried again, who is given up, and
// when to stop. These are pure functions; the owner of the workers (dispatch.hpp, search/live.hpp)
// acts on them.

#include <optional>
#include <string>
#include <string_view>

#include "harness/workers/protocol.hpp"

namespace gla_bench {

/// Why a worker ended while it was working.
struct WorkerEnd {
  bool timed_out = false;  ///< it was killed, because a step exceeded its limit
  std::string cause;       ///< "SIGSEGV (Segmentation fault)", "a call took more than 30 s"
};

/// This many deaths in a row for which nobody is to blame end the work.
constexpr int most_blameless_deaths = 3;

/// What is known of a death.
struct WorkerDeath {
  WorkerEnd end;
  std::optional<StepEvent> in_hand;  ///< the step under way; nothing between steps
  int earlier = 0;  ///< earlier deaths in a step of the same candidate, or in steps of the problem
                    ///< as a whole where the step has no candidate
  int blameless = 0;   ///< earlier deaths in a row for which nobody was to blame
  bool timed = false;  ///< the candidate's times are known; only its counters were left
};

enum class AfterDeath {
  go_on,        ///< no step had begun, so nobody is to blame: a new worker takes the work
  stop,         ///< too many of those deaths in a row: nothing can run at this place
  keep_timing,  ///< the candidate's times are kept, with the cause of death in place of the
                ///< counters
  try_again,    ///< try the candidate in hand once more, alone, or the problem's own step once more
  give_up,      ///< the candidate in hand has failed
  give_up_problem,  ///< every candidate of the problem that has no row yet has failed, too
};

struct DeathDecision {
  AfterDeath action = AfterDeath::go_on;
  Status status = Status::crashed;  ///< of rows that are given up: `crashed` or `timeout`
  std::string reason;               ///< for those rows, or why work stops
};

/// A crash may have been caused by another candidate, so the suspect is tried once more. A hang is
/// not tried again, since each costs its whole time limit.
DeathDecision after_death(const WorkerDeath& death);

/// `timeout` or `crashed`.
Status status_of(const WorkerEnd& end);

/// The message for people about a step that is tried again. `candidate` is null for a step of the
/// problem as a whole.
std::string retry_text(const WorkerEnd& end, RunStep step, const Candidate* candidate);

/// The message for people about a death between steps.
std::string replaced_text(const WorkerEnd& end);

/// The message for people when a suspect succeeds.
constexpr std::string_view acquittal_text =
    "it went through when tried alone, so something else ended the worker; what was being compiled "
    "ahead is compiled in its turn";

/// Why a worker with this many resident bytes is to be killed. Empty where it is within `most`, or
/// where `most` is 0 (no limit).
std::string memory_fault(double resident_bytes, double most);

}  // namespace gla_bench
