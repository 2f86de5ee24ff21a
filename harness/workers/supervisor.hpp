#pragma once
// The parent of the workers. It hands out problems, writes each step to the journal before it
// begins, receives the records, kills workers that hang and replaces those that died. It makes no
// CUDA calls.

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/engine/run.hpp"
#include "harness/engine/run_progress.hpp"
#include "harness/support/progress.hpp"
#include "harness/workers/conditions.hpp"
#include "harness/workers/slot.hpp"

namespace gla_bench {

struct RunHooks {
  /// Called before a step of a candidate, with the worker's name. The worker waits until it
  /// returns.
  std::function<void(const Candidate&, RunStep, const std::string& where)> starting;
  RecordSink record;
};

struct SupervisedEnd {
  RunSummary summary;
  int signal = 0;            ///< SIGINT or SIGTERM ended the run; what was recorded is kept
  bool out_of_time = false;  ///< it ended at WorkConditions::ends; what was recorded is kept
  bool failed = false;       ///< it ended at a failure, as WorkConditions::until_failure asks
  std::string broken;        ///< why the run could not go on; empty where it was completed
};

class Supervisor {
 public:
  Supervisor() = default;

  /// Starts a worker and waits for its hello. @throws InputError for what the worker reports as the
  /// user's mistake, WorkerError when it cannot be started
  const Hello& add(const std::string& label, const WorkerCommand& command);

  /// From the first worker.
  const Hello& hello() const { return *slots_.front()->hello(); }
  std::size_t size() const { return slots_.size(); }

  /// The place of the first worker, which is asked for facts that hold for all.
  Slot& first() { return *slots_.front(); }

  /// Brings every candidate to its record, refused ones too. @throws InputError, and what the hooks
  /// throw
  SupervisedEnd run(std::span<const Assignment> work, const WorkConditions& conditions,
                    const RunHooks& hooks, Progress& progress);

 private:
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace gla_bench
