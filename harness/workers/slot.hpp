#pragma once
// A place where one worker runs after another: a GPU, or the host. It holds the present process,
// the problem that it works on and the time by which it must send a message.

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
  /// From the first worker here; later ones are assumed to be the same.
  const std::optional<Hello>& hello() const { return hello_; }
  WorkerProcess* process() { return process_.get(); }
  PointWork* work() { return work_.get(); }
  /// Index of the run's problem that is being worked on here.
  std::optional<std::size_t> point() const { return point_; }

  /// The seconds within which a worker must say hello. It is generous, since a driver that opens
  /// eight GPUs is slow.
  static constexpr double hello_seconds = 180;

  /// Starts a process and waits for its hello. @throws InputError for what the worker reports as
  /// the user's mistake, WorkerError when it cannot be started, Interrupted
  void open();
  /// Runs plan_counters() in the worker, whose device decides which metrics exist. `config` is the
  /// file of the policy. @throws InputError for a metric that the device lacks, WorkerError
  std::string plan_counters(const CounterPolicy& policy, const std::string& config);
  /// The ceilings of the worker's place, or nothing where nothing can run. @throws WorkerError
  std::optional<Ceilings> measure_ceilings();

  /// Starts a process, which must say hello within `seconds`. @throws WorkerError
  void start(double seconds);
  /// The hello of the process that was started. @throws WorkerError where the place has changed
  void greeted(const Hello& hello);
  /// Starts a problem, or continues it (`work`).
  void take(std::size_t point, std::unique_ptr<PointWork> work);
  /// Moves the problem's work out of the slot.
  std::unique_ptr<PointWork> leave();
  void idle();
  void retire();
  /// Tells the process once how work is to be done. Returns false when it no longer listens.
  bool configure(const WorkSettings& settings);

  /// The process must send a message within `seconds`.
  void expect_within(double seconds);
  bool overdue() const { return deadline_ && Clock::now() >= *deadline_; }
  /// The limit that was set last.
  double limit_seconds() const { return limit_; }

  /// Kills the process if it is alive, and returns how it ended. The slot is empty afterwards.
  Death end(bool kill);

  /// The worker's last message before it ended: a record ("crashed"), or why it could not go on.
  std::optional<Record> last_record;
  /// The record of a candidate that is timed, while its counters are being read.
  std::optional<Record> timed_record;
  std::string last_error;
  /// Deaths in a row for which no candidate is to blame.
  int blameless_deaths = 0;
  /// Lines that the worker has printed since the last record.
  int printed = 0;
  /// How far among the run's candidates this process was told to compile ahead.
  std::size_t ahead_until = 0;

 private:
  std::optional<std::string> hear(double seconds);
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
