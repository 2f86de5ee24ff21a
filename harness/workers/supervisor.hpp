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
#include "harness/workers/slot.hpp"
#include "harness/workers/step_limit.hpp"

namespace gla_bench {

/// What the supervised run is to do, and how.
struct SupervisedPlan {
  RunPlan run;        ///< place, measure, rates; its timing and tolerance are the policy's
  Policy policy;      ///< as the workers are to have it
  WorkRates rates;    ///< for the limits of steps
  double memory = 0;  ///< bytes that a worker may have resident; 0: any
  /// When the run ends, whatever is left to do; nothing: when all is done.
  std::optional<std::chrono::steady_clock::time_point> ends = {};
};

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
  /// Seconds within which a worker must say hello: a driver that opens eight GPUs takes its time.
  static constexpr double hello_seconds = 180;

  Supervisor() = default;

  /// Starts a worker and waits for its hello. @throws InputError for what the worker says is the
  /// user's mistake, WorkerError when it can not be started
  const Hello& add(const std::string& label, const WorkerCommand& command);

  /// Of the first worker.
  const Hello& hello() const { return *slots_.front()->hello(); }
  std::size_t size() const { return slots_.size(); }

  /// plan_counters() by the first worker, whose device decides which metrics there are; `config` is
  /// the file of the policy. @throws InputError for a metric that it lacks, WorkerError
  std::string plan_counters(const CounterPolicy& policy, const std::string& config);

  /// Measured by the first worker. @throws WorkerError
  std::optional<Ceilings> measure_ceilings();

  /// Everything to its record; refused candidates too. @throws InputError, and what the hooks throw
  SupervisedEnd run(std::span<const Assignment> work, const SupervisedPlan& plan,
                    const RunHooks& hooks, Progress& progress);

 private:
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace gla_bench
