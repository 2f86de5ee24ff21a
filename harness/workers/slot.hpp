#pragma once
// A place for one worker after another: a GPU, or the host. Holds the process that is there now,
// the problem it works on and until when it must be heard of.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "harness/workers/point_work.hpp"
#include "harness/workers/process.hpp"
#include "harness/workers/protocol.hpp"

namespace gla_bench {

class Slot {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State {
    empty,     ///< no process
    starting,  ///< no hello yet
    idle,      ///< waits for work
    busy,      ///< works on point()
    retired    ///< nothing can run here any more
  };

  Slot(std::string label, WorkerCommand command)
      : label_(std::move(label)), command_(std::move(command)) {}

  const std::string& label() const { return label_; }
  State state() const { return state_; }
  /// Of the first worker here; those after it are taken to be the same.
  const std::optional<Hello>& hello() const { return hello_; }
  WorkerProcess* process() { return process_.get(); }
  PointWork* work() { return work_.get(); }
  /// Which of the run's problems is in work here.
  std::optional<std::size_t> point() const { return point_; }

  /// Seconds within which a worker must say hello: a driver that opens eight GPUs takes its time.
  static constexpr double hello_seconds = 180;

  /// Starts a process and waits for its hello. @throws InputError for what the worker says is the
  /// user's mistake, WorkerError when it can not be started
  void open();
  /// plan_counters() by the worker, whose device decides which metrics there are; `config` is the
  /// file of the policy. @throws InputError for a metric that it lacks, WorkerError
  std::string plan_counters(const CounterPolicy& policy, const std::string& config);
  /// Of the worker's place, or nothing where nothing can run. @throws WorkerError
  std::optional<Ceilings> measure_ceilings();

  /// Starts a process, which must say hello within `seconds`. @throws WorkerError
  void start(double seconds);
  /// The hello of the process that was started. @throws WorkerError where the place has changed
  void greeted(const Hello& hello);
  /// Takes a problem on, or goes on with it (`work`).
  void take(std::size_t point, std::unique_ptr<PointWork> work);
  /// The problem's work, which leaves the slot.
  std::unique_ptr<PointWork> leave();
  void idle();
  void retire();
  /// Tells the process how work is to be done, once. False when it does not listen any more.
  bool configure(const WorkSettings& settings);

  /// The process must be heard of within `seconds`.
  void expect_within(double seconds);
  bool overdue() const { return deadline_ && Clock::now() >= *deadline_; }
  /// The limit that was set last.
  double limit_seconds() const { return limit_; }

  /// Kills the process where it lives, and says how it ended. The slot is empty after it.
  Death end(bool kill);

  /// What the worker said before it ended: a record ("crashed"), or why it could not go on.
  std::optional<Record> last_record;
  /// Of a candidate that is timed, while something is counted for it.
  std::optional<Record> timed_record;
  std::string last_error;
  /// Deaths in a row for which no candidate is to blame.
  int blameless_deaths = 0;
  /// Lines that the worker has printed since the last record.
  int printed = 0;
  /// How far into the run's candidates this process was told to compile ahead.
  std::size_t ahead_until = 0;

 private:
  Json expect(const std::string& kind, double seconds);

  std::string label_;
  WorkerCommand command_;
  State state_ = State::empty;
  std::optional<Hello> hello_;
  std::unique_ptr<WorkerProcess> process_;
  std::optional<std::size_t> point_;
  std::unique_ptr<PointWork> work_;
  std::optional<Clock::time_point> deadline_;
  double limit_ = 0;
  bool configured_ = false;
};

}  // namespace gla_bench
