#pragma once
// A worker that handles one request at a time, while the caller waits. Comparisons use it to
// alternate between two programs.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "harness/workers/death_policy.hpp"
#include "harness/workers/slot.hpp"

namespace gla_bench {

/// The worker is gone: it crashed, or was killed after its limit. The request has no answer.
/// restart() starts a new worker.
struct WorkerLost : WorkerError {
  WorkerLost(const std::string& label, WorkerEnd how)
      : WorkerError(label + ": " + how.cause), end(std::move(how)) {}
  WorkerEnd end;
};

class WorkerClient {
 public:
  /// Seconds that a step may take (step_limit.hpp).
  using Limit = std::function<double(RunStep)>;

  /// Starts a worker and waits for its hello.
  /// @throws WorkerError when there is none, InputError for a worker of another protocol and for
  /// what the worker reports as the user's mistake
  WorkerClient(const std::string& label, const WorkerCommand& command);

  const Hello& hello() const { return *slot_.hello(); }

  /// Sets how all later work is done. A restarted worker is configured the same way.
  void configure(const WorkSettings& settings);

  /// See Slot.
  std::string plan_counters(const CounterPolicy& policy, const std::string& config) {
    return slot_.plan_counters(policy, config);
  }
  std::optional<Ceilings> measure_ceilings() { return slot_.measure_ceilings(); }

  /// The seconds that a step may take, asked before the step begins.
  using Started = std::function<double(const StepEvent&)>;

  /// Called before waiting for an answer and several times a second while waiting. Returns why the
  /// worker is to be killed, or an empty text. An exception from it ends the wait, and after that
  /// the worker can only be restarted.
  void while_waiting(std::function<std::string(WorkerProcess&)> look) { look_ = std::move(look); }

  /// Candidates to compile ahead.
  void ahead(const NamedPoint& point);

  /// Verifies the first of the candidates that is compiled, and keeps it ready beside those held
  /// before. Returns its index and its record. @throws as prepare()
  std::pair<std::size_t, Record> hold(const NamedPoint& point, const Started& started);

  /// The held candidates free their memory until they are sampled again.
  void release(const NamedPoint& point);

  /// Verifies the candidate and keeps it ready. `verified`: samples can be taken. `rejected`: the
  /// worker's program has no such operator or variant. @throws WorkerLost, InputError
  Record prepare(const Problem& problem, const NamedCandidate& candidate, const Limit& limit);

  /// Takes timed samples of the prepared candidate. @throws WorkerLost; RunError when a call failed
  /// and the worker is still alive, with nothing prepared
  Samples sample(const SampleRequest& request, double seconds);

  /// Verifies the outputs of the last sample: `verified` or `wrong`. @throws WorkerLost
  Record check(double seconds, const CheckRequest& request = {});

  /// Starts a new worker in place of one that was lost. @throws as the constructor
  void restart();

 private:
  Json ask(const Json& request, const std::string& answer, double seconds, const Started& started);
  std::optional<std::string> hear(double seconds);
  std::optional<std::string> receive(double seconds);
  void look();
  void send(const Json& request);
  [[noreturn]] void lose(bool timed_out, const std::string& why);

  Slot slot_;
  std::optional<WorkSettings> settings_;
  std::function<std::string(WorkerProcess&)> look_;
};

}  // namespace gla_bench
