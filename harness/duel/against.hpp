#pragma once
// A run of this program against another binary of it: two workers on one device, of which the
// parent asks one at a time.

#include <span>

#include "harness/engine/run.hpp"
#include "harness/judge/rounds.hpp"
#include "harness/support/progress.hpp"
#include "harness/workers/client.hpp"
#include "harness/workers/conditions.hpp"

namespace gla_bench {

/// Each candidate: prepared and verified by both programs from the same problem, then rounds, then
/// the last samples of both verified. One record each, the other program's side in `against`; one
/// that only this program has or can run is verified and not timed. A worker that dies or hangs
/// costs the row and is replaced. @throws InputError, WorkerError where a worker can not be
/// replaced, and what the sink throws
RunSummary run_against(WorkerClient& base, WorkerClient& fresh, std::span<const Assignment> work,
                       const WorkConditions& conditions, RoundPolicy rounds, const RecordSink& sink,
                       Progress& progress);

/// The environment of a file of rounds: this program's, and what is special to the other.
Facts environment_against(Facts environment, const Hello& base, const std::string& path);

}  // namespace gla_bench
