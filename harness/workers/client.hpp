#pragma once
// A worker that is asked one thing at a time, and waited for: how comparisons take turns between
// two programs.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "harness/workers/death_policy.hpp"
#include "harness/workers/slot.hpp"

namespace gla_bench {

/// The worker is gone: it crashed or was killed after its limit. What it was asked for has no
/// answer; restart() makes a new one.
struct WorkerLost : WorkerError {
  WorkerLost(const std::string& label, WorkerEnd how)
      : WorkerError(label + ": " + how.cause), end(std::move(how)) {}
  WorkerEnd end;
};

class WorkerClient {
 public:
  /// Seconds that a step may take (step_limit.hpp).
  using Limit = std::function<double(RunStep)>;

  /// Starts a worker and takes its hello. @throws WorkerError when there is none, InputError for
  /// one of another protocol, and for what the worker says is the user's mistake
  WorkerClient(const std::string& label, const WorkerCommand& command);

  const Hello& hello() const { return *slot_.hello(); }

  /// How all that follows is to be done; a restarted worker is told again.
  void configure(const WorkSettings& settings);

  /// See Slot.
  std::string plan_counters(const CounterPolicy& policy, const std::string& config) {
    return slot_.plan_counters(policy, config);
  }
  std::optional<Ceilings> measure_ceilings() { return slot_.measure_ceilings(); }

  /// Seconds that a step may take, which is about to begin.
  using Started = std::function<double(const StepEvent&)>;

  /// Called before an answer is awaited, and some times a second until it is there. Why the worker
  /// is to be killed, or an empty text. What it throws ends the wait; the worker can only be
  /// restarted after it.
  void while_waiting(std::function<std::string(WorkerProcess&)> look) { look_ = std::move(look); }

  /// Candidates to compile ahead.
  void ahead(const NamedPoint& point);

  /// Verifies one of the candidates, the first that is compiled, and keeps it ready beside those
  /// held before. Its place and record. @throws as prepare()
  std::pair<std::size_t, Record> hold(const NamedPoint& point, const Started& started);

  /// Held candidates give their memory back until they are sampled again.
  void release(const NamedPoint& point);

  /// Verifies the candidate and keeps it ready. `verified`: samples can be taken; `rejected`: that
  /// program has no such operator or variant. @throws WorkerLost, InputError
  Record prepare(const Problem& problem, const NamedCandidate& candidate, const Limit& limit);

  /// Timed samples of what is prepared. @throws WorkerLost; RunError when a call failed and the
  /// worker lives on, with nothing prepared
  Samples sample(const SampleRequest& request, double seconds);

  /// Judges what the last sample left in the outputs: `verified` or `wrong`. @throws WorkerLost
  Record check(double seconds, const CheckRequest& request = {});

  /// A new worker in the place of one that was lost. @throws as the constructor
  void restart();

 private:
  Json ask(const Json& request, const std::string& answer, double seconds, const Started& started);
  std::optional<std::string> receive(double seconds);
  void look();
  void send(const Json& request);
  [[noreturn]] void lose(bool timed_out, const std::string& why);

  Slot slot_;
  std::optional<WorkSettings> settings_;
  std::function<std::string(WorkerProcess&)> look_;
};

}  // namespace gla_bench
