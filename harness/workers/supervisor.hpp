#pragma once
// The parent of workers: hands problems out, journals what is begun, takes the records, kills what
// hangs, replaces what died. Calls nothing of CUDA.

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
  /// Before a step of a candidate, with the worker's name; the worker waits for it to return.
  std::function<void(const Candidate&, RunStep, const std::string& where)> starting;
  RecordSink record;
};

struct SupervisedEnd {
  RunSummary summary;
  int signal = 0;            ///< SIGINT or SIGTERM ended the run; what was recorded is kept
  bool out_of_time = false;  ///< it ended at SupervisedPlan::ends; what was recorded is kept
  std::string broken;        ///< why the run could not go on; empty where it came to its end
};

class Supervisor {
 public:
  Supervisor() = default;

  /// Starts a worker and waits for its hello. @throws InputError for what the worker says is the
  /// user's mistake, WorkerError when it can not be started
  const Hello& add(const std::string& label, const WorkerCommand& command);

  /// Of the first worker.
  const Hello& hello() const { return *slots_.front()->hello(); }
  std::size_t size() const { return slots_.size(); }

  /// Where the first worker runs, which is asked for what is true of all.
  Slot& first() { return *slots_.front(); }

  /// Everything to its record; refused candidates too. @throws InputError, and what the hooks throw
  SupervisedEnd run(std::span<const Assignment> work, const WorkConditions& conditions,
                    const RunHooks& hooks, Progress& progress);

 private:
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace gla_bench
