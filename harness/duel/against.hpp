#pragma once
// Runs this program against another binary of it. Two workers share one device, and the parent asks
// one at a time.

#include <span>

#include "harness/engine/run.hpp"
#include "harness/judge/rounds.hpp"
#include "harness/support/progress.hpp"
#include "harness/workers/client.hpp"
#include "harness/workers/conditions.hpp"

namespace gla_bench {

/// Each candidate is prepared and verified by both programs from the same problem. Then rounds are
/// taken, and the last samples of both are verified. Each candidate gives one record, with the
/// other program's side in `against`. A candidate that only this program has or can run is verified
/// and not timed. A worker that dies or hangs costs the row and is replaced.
/// @throws InputError, WorkerError where a worker cannot be replaced, and what the sink throws
RunSummary run_against(WorkerClient& base, WorkerClient& fresh, std::span<const Assignment> work,
                       const WorkConditions& conditions, RoundPolicy rounds, const RecordSink& sink,
                       Progress& progress);

/// The environment of a file of rounds: this program's, with what differs in the other's.
Facts environment_against(Facts environment, const Hello& base, const std::string& path);

}  // namespace gla_bench
